import type { Build } from "./compiled.d.mts";

export function compile(options?: { of?: string; entries?: readonly string[] }): Promise<Build>;
