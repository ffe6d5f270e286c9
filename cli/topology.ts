// precedent topology: the flow as a Mermaid diagram, from the very values that the runner starts
// from. Inline arms have no work topic in it; where all are inline it has no stage generate.
import type { Command } from "commander";
import { toMermaid, topology } from "../pipelines/topology.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export function addTopology(program: Command, io: Io): void {
  program
    .command("topology")
    .description("print the flow as a Mermaid diagram")
    .action((_options, command: Command) => {
      const { arms } = configOf(command, io).config;
      const queued = arms.flatMap(({ name, dispatch }) => (dispatch === "queued" ? [name] : []));
      io.out(toMermaid(topology, queued));
    });
}
