// example replay: examples that would gain most are asked again. A run is started by
// `precedent examples replay run` or by the schedule; one at a time (runtime/singleton.ts).
import type { StageDescription } from "../../runtime/declaration.ts";

export const exampleReplay = {
  name: "example-replay",
  sources: ["ClickHouse"],
  // How busy the arms are that plan calls itself.
  tables: ["inline-calls"],
  operators: ["example-replay"],
  outputs: ["examples", "example-replays", "ClickHouse"],
} as const satisfies StageDescription;
