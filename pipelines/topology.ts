// All stages as they declare themselves, and their picture: what `precedent topology` draws.
import type { StageDescription } from "../runtime/declaration.ts";
import { isTenantTopic, tenantTopics, type TopicOwners } from "../schemas/records.ts";
import { curate } from "./curate/pipeline.ts";
import { gateway } from "./gateway/pipeline.ts";
import { generate } from "./generate/pipeline.ts";
import { intakeFeedback, intakeRequests } from "./intake/pipeline.ts";
import { learn } from "./learn/pipeline.ts";
import { outletAlternativeAnswers, outletResponses } from "./outlet/pipeline.ts";
import { plan } from "./plan/pipeline.ts";
import { record } from "./record/pipeline.ts";
import { exampleReplay } from "./replay/pipeline.ts";

export const topology: readonly StageDescription[] = [
  gateway,
  intakeRequests,
  intakeFeedback,
  plan,
  generate,
  outletResponses,
  outletAlternativeAnswers,
  record,
  learn,
  curate,
  exampleReplay,
];

/** Whether a stage is there for tenants that have topics of their own. */
export const isForTenants = ({ sources, outputs }: StageDescription): boolean =>
  [...sources, ...outputs].some(isTenantTopic);

export const stagesOf = (
  stages: readonly StageDescription[],
  { arms, tenants }: Pick<TopicOwners, "arms" | "tenants">,
): readonly StageDescription[] =>
  stages.filter((stage) =>
    stage.sources.includes("work") ? arms.length > 0 : tenants.length > 0 || !isForTenants(stage),
  );

/**
 * The flow as a Mermaid flowchart: topics round, stages with operators in order; work and tenants'
 * topics once. What only speakers for clients of the `whole` write comes from clients. Dotted:
 * lookups, and writes outside of transactions.
 */
export function toMermaid(
  stages: readonly StageDescription[],
  owners: TopicOwners,
  whole: readonly StageDescription[] = stages,
): string {
  const drawn = (store: string): string[] => {
    if (store === "work") return owners.arms.map((arm) => `work.${arm}`);
    if (store === "tenant-deltas" && owners.streaming.length === 0) return [];
    return [isTenantTopic(store) ? `${tenantTopics[store]}TENANT` : store];
  };
  const id = (name: string): string => name.replace(/[^A-Za-z0-9]/g, "_");
  const shown = stagesOf(stages, owners);
  const writers = whole.filter((stage) => owners.tenants.length > 0 || !isForTenants(stage));
  const written = new Set<string>(
    writers.flatMap(({ outputs, beside = [], serves }) => (serves === undefined ? [...outputs, ...beside] : [])),
  );
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
