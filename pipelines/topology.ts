// All stages: what the runner starts from and what `precedent topology` draws.
import type { TopicName } from "../schemas/records.ts";
import { curate } from "./curate.ts";
import { generate } from "./generate.ts";
import { learn } from "./learn.ts";
import { plan } from "./plan.ts";
import { record } from "./record.ts";

export interface StageDescription {
  name: string;
  /** Topics that move it; ClickHouse where it looks there by itself. */
  sources: readonly (TopicName | "ClickHouse")[];
  /** Compacted topics that it holds as tables. */
  tables: readonly TopicName[];
  operators: readonly string[];
  outputs: readonly (TopicName | "ClickHouse")[];
  /** One consumer group an arm. */
  perArm: boolean;
}

export const topology: readonly StageDescription[] = [
  {
    name: plan.name,
    sources: [plan.source],
    tables: ["documents", "examples", "kv-inventory", "policies"],
    operators: plan.operators,
    outputs: plan.outputs,
    perArm: false,
  },
  {
    name: generate.name,
    sources: [generate.source],
    tables: [],
    operators: generate.operators,
    // What its arm's caches hold, beside the pipeline.
    outputs: [...generate.outputs, "kv-inventory"],
    perArm: true,
  },
  {
    name: record.name,
    sources: record.sources,
    tables: [],
    operators: record.operators,
    outputs: ["ClickHouse", "dead-letters"],
    perArm: false,
  },
  {
    name: learn.name,
    sources: ["ClickHouse"],
    tables: [],
    operators: learn.operators,
    outputs: ["policies", "ClickHouse"],
    perArm: false,
  },
  {
    name: curate.name,
    sources: ["ClickHouse"],
    tables: ["examples"],
    operators: curate.operators,
    outputs: ["examples", "ClickHouse"],
    perArm: false,
  },
];

/** The flow as a Mermaid flowchart: topics round, stages with their operators in order; work is drawn once an arm. */
export function toMermaid(stages: readonly StageDescription[], arms: readonly string[]): string {
  const topicsOf = (topic: string): string[] => (topic === "work" ? arms.map((arm) => `work.${arm}`) : [topic]);
  const id = (name: string): string => name.replace(/[^A-Za-z0-9]/g, "_");
  const topics = new Set(
    stages.flatMap(({ sources, tables, outputs }) => [...sources, ...tables, ...outputs]).flatMap(topicsOf),
  );
  const lines = ["flowchart LR"];
  for (const topic of topics) lines.push(`  ${id(topic)}${topic === "ClickHouse" ? `[(${topic})]` : `([${topic}])`}`);
  for (const { name, sources, tables, operators, outputs } of stages) {
    const stage = `stage_${id(name)}`;
    lines.push(`  ${stage}["${[`<b>${name}</b>`, ...operators].join("<br/>")}"]`);
    for (const source of sources.flatMap(topicsOf)) lines.push(`  ${id(source)} --> ${stage}`);
    for (const table of tables) lines.push(`  ${id(table)} -.-> ${stage}`);
    for (const output of outputs.flatMap(topicsOf)) lines.push(`  ${stage} --> ${id(output)}`);
  }
  return `${lines.join("\n")}\n`;
}
