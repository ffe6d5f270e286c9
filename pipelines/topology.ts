// All stages as they declare themselves, and their picture: what `precedent topology` draws.
import type { StageDescription } from "../runtime/declaration.ts";
import { curate } from "./curate.ts";
import { gateway } from "./gateway.ts";
import { generate } from "./generate.ts";
import { learn } from "./learn.ts";
import { plan } from "./plan.ts";
import { record } from "./record.ts";
import { replay } from "./replay.ts";

export const topology: readonly StageDescription[] = [gateway, plan, generate, record, learn, curate, replay];

/**
 * The flow as a Mermaid flowchart: topics round, stages with their operators in order; work is
 * drawn once a queued arm, and without any the stage that reads it is not drawn. What no stage
 * writes but those that speak for clients comes from clients, too. Dotted: what a stage looks
 * things up in, and what it writes outside of its transactions.
 */
export function toMermaid(stages: readonly StageDescription[], arms: readonly string[]): string {
  const drawn = (store: string): string[] => (store === "work" ? arms.map((arm) => `work.${arm}`) : [store]);
  const id = (name: string): string => name.replace(/[^A-Za-z0-9]/g, "_");
  const written = new Set<string>(
    stages.flatMap(({ outputs, beside = [], serves }) => (serves === undefined ? [...outputs, ...beside] : [])),
  );
  const shown = stages.filter(({ sources }) => sources.flatMap(drawn).length > 0);
  const read = new Set<string>(shown.flatMap(({ sources, tables }) => [...sources, ...tables]));
  const stores = shown.flatMap(({ outputs, beside = [] }) => [...outputs, ...beside]);
  const ofClients = [...read].filter((store) => !written.has(store));

  const lines = ["flowchart LR", "  clients([clients])"];
  for (const store of new Set([...read, ...stores].flatMap(drawn)))
    lines.push(`  ${id(store)}${store === "ClickHouse" ? `[(${store})]` : `([${store}])`}`);
  for (const store of ofClients.flatMap(drawn)) lines.push(`  clients --> ${id(store)}`);
  for (const { name, operators, sources, tables, outputs, beside = [], serves } of shown) {
    const stage = `stage_${id(name)}`;
    lines.push(`  ${stage}["${[`<b>${name}</b>`, ...operators].join("<br/>")}"]`);
    if (serves !== undefined) lines.push(`  clients -- ${serves} --> ${stage}`);
    for (const source of sources.flatMap(drawn)) lines.push(`  ${id(source)} --> ${stage}`);
    const others = tables.filter((table) => !sources.includes(table));
    for (const table of others.flatMap(drawn)) lines.push(`  ${id(table)} -.-> ${stage}`);
    for (const output of outputs.flatMap(drawn)) lines.push(`  ${stage} --> ${id(output)}`);
    for (const output of beside.flatMap(drawn)) lines.push(`  ${stage} -.-> ${id(output)}`);
  }
  return `${lines.join("\n")}\n`;
}
