// precedent topology: the flow as a Mermaid diagram, from the very values that the runner starts from.
import type { Command } from "commander";
import { armsOf } from "../config/load.ts";
import type { PipelineDescription } from "../runtime/pipeline.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";
import { describeStages } from "./stages.ts";

export function addTopology(program: Command, io: Io): void {
  program
    .command("topology")
    .description("print the flow as a Mermaid diagram")
    .action((_options, command: Command) => {
      io.out(renderTopology(describeStages(), armsOf(configOf(command, io).config)));
    });
}

/** Stages as boxes with their operators in order, topics as rounds; `work` is drawn once an arm. */
export function renderTopology(stages: readonly PipelineDescription[], arms: readonly string[]): string {
  const lines = ["flowchart LR"];
  const topicsOf = (topic: string): string[] => (topic === "work" ? arms.map((arm) => `work.${arm}`) : [topic]);
  const node = (name: string): string => name.replace(/[^A-Za-z0-9]/g, "_");
  const topics = new Set(stages.flatMap(({ source, outputs }) => [source, ...outputs]).flatMap(topicsOf));
  for (const topic of topics) lines.push(`  topic_${node(topic)}([${topic}])`);
  for (const { name, source, operators, outputs } of stages) {
    lines.push(`  stage_${node(name)}["${[`<b>${name}</b>`, ...operators].join("<br/>")}"]`);
    for (const topic of topicsOf(source)) lines.push(`  topic_${node(topic)} --> stage_${node(name)}`);
    for (const topic of outputs.flatMap(topicsOf)) lines.push(`  stage_${node(name)} --> topic_${node(topic)}`);
  }
  return `${lines.join("\n")}\n`;
}
