import type { Build } from "../../connections/worker/compiled.d.mts";

export function compile(options?: { of?: string; entries?: readonly string[] }): Promise<Build>;
