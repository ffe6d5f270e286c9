// Unpredictable noise: the standard normal distribution from the system's random bytes.
import { randomBytes } from "node:crypto";

/** In (0, 1], a multiple of 2^-53. */
const uniform = (): number => (Number(randomBytes(8).readBigUInt64LE() >> 11n) + 1) / 2 ** 53;

export const secureNormal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
