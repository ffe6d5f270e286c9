// Rows of examples: state, remains of an evicted one, and what a decision's chosen arm was shown
// and tried. Pure, as rows.ts says.
import type { Row, TableRows } from "../../runtime/rows.ts";
import type { ArmScore, Decision, Example, ExampleSource } from "../../schemas/types.ts";
import { at, double, floats, ownTime, single, time, timeOrNull, type RowPosition } from "./values.ts";

export const sourceColumns = (source: ExampleSource): object => ({
  source_arm: source.arm,
  source_model: source.model,
  source_request_id: source.requestId,
});

export const exampleRow = (record: Example, position: RowPosition): Row => ({
  example_id: record.id,
  tenant: record.tenant,
  domain: record.domain,
  request: record.request,
  response: record.response,
  embedding: floats(record.embedding),
  embedding_model: record.embeddingModel,
  ...sourceColumns(record.source),
  quality: double(record.quality),
  bytes: record.bytes,
  expires_at: timeOrNull(record.expiresAt),
  replays: record.replays,
  deleted: false,
  created_at: time(ownTime(record.createdAt, position)),
  kafka_timestamp: time(position.timestamp),
  ...at(position),
});

/** Parts of a tombstone's key, tenant/domain/example id; null: no such key. */
export function evictedExampleRow(key: string, position: RowPosition): TableRows | null {
  const [, domain, id] = /^(.+)\/([^/]+)$/s.exec(key) ?? [];
  if (domain === undefined || id === undefined) return null;
  return {
    table: "examples",
    rows: [
      {
        example_id: id,
        tenant: decodedTenant(domain),
        domain,
        deleted: true,
        created_at: time(position.timestamp),
        kafka_timestamp: time(position.timestamp),
        ...at(position),
      },
    ],
  };
}

/** Undoes sharingDomain of algorithms/identity/identity.ts for the tenant. */
function decodedTenant(domain: string): string {
  const name = domain.split("/", 1)[0] ?? "";
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const chosenArm = (record: Decision): ArmScore | undefined => record.arms.find(({ arm }) => arm === record.arm);

/** What an example's row says of the decision. */
const decided = (record: Decision, chosen: ArmScore, position: RowPosition): Row => ({
  request_id: record.requestId,
  tenant: record.tenant,
  domain: record.domain,
  arm: chosen.arm,
  model: chosen.model,
  features_version: record.helpfulnessFeatures,
  helpfulness_version: record.helpfulnessVersion,
  arm_cost: double(chosen.cost),
  arm_mean: double(chosen.mean),
  created_at: time(ownTime(record.createdAt, position)),
});

export function exampleUseRows(record: Decision, position: RowPosition): Row[] {
  const chosen = chosenArm(record);
  if (chosen === undefined) return [];
  const shared = decided(record, chosen, position);
  const kafka = at(position);
  return chosen.examples.map((example, index) => ({
    example_id: example.id,
    ...shared,
    position: index + 1,
    example_order: chosen.order,
    order_probability: double(chosen.orderProbability),
    similarity: double(example.similarity),
    helpfulness: double(example.helpfulness),
    tokens: example.tokens,
    explored: example.explored,
    cached_bonus: double(example.cachedBonus),
    features: example.features.map(single),
    ...kafka,
  }));
}

/** The trial of the chosen arm, if there was one: none or one row. */
export function exampleTrialRows(record: Decision, position: RowPosition): Row[] {
  const chosen = chosenArm(record);
  const trial = chosen?.trial ?? null;
  if (chosen === undefined || trial === null) return [];
  return [
    {
      example_id: trial.id,
      ...decided(record, chosen, position),
      shown: trial.shown,
      probability: double(trial.probability),
      similarity: double(trial.similarity),
      helpfulness: double(trial.helpfulness),
      arm_probability: double(chosen.probability),
      examples: chosen.examples.length,
      features: trial.features.map(single),
      ...at(position),
    },
  ];
}
