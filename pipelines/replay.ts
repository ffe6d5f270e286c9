// replay: examples that would gain most are asked again. A run is started by
// `precedent examples replay run`; one at a time (runtime/singleton.ts).
import type { StageDescription } from "../runtime/declaration.ts";

export const replay = {
  name: "replay",
  sources: ["ClickHouse"],
  tables: [],
  operators: ["replay"],
  outputs: ["examples", "replays"],
} as const satisfies StageDescription;
