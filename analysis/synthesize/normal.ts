// Unpredictable noise: the standard normal distribution by Box and Muller, from random bytes of the
// operating system.
import { randomBytes } from "node:crypto";

/** In (0, 1], a multiple of 2^-53. */
const uniform = (): number => (Number(randomBytes(8).readBigUInt64LE() >> 11n) + 1) / 2 ** 53;

export const secureNormal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
