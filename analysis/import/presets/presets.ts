// Exports of other systems that precedent import reads, by the name that --preset gives.
import { helicone } from "./helicone.ts";
import { langfuse } from "./langfuse.ts";
import { litellm } from "./litellm.ts";
import type { Preset } from "./preset.ts";
import { tensorzero } from "./tensorzero.ts";

export const presets: Readonly<Record<string, Preset>> = { litellm, langfuse, tensorzero, helicone };
