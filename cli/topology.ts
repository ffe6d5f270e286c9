// precedent topology: the flow as a Mermaid diagram, from the very values that the runner starts
// from.
import type { Command } from "commander";
import { armsOf } from "../config/load.ts";
import { toMermaid, topology } from "../pipelines/topology.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export function addTopology(program: Command, io: Io): void {
  program
    .command("topology")
    .description("print the flow as a Mermaid diagram")
    .action((_options, command: Command) => {
      io.out(toMermaid(topology, armsOf(configOf(command, io).config)));
    });
}
