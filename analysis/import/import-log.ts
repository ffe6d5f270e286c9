// Imports another system's log (docs/import.md) as the rows that record would have stored; nothing
// on topics. Derived from file and row index, so a repeat adds nothing. Feedback comes last of each
// batch, under an origin of its own, where learn finds it.
import { createFeatures, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { originText, type Origin } from "../../algorithms/identity/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { computing, type RouteArm } from "../../arms/routed.ts";
import { lastUserTurn } from "../../operators/validate/validate.ts";
import type { TableRows } from "../../runtime/rows.ts";
import type { ArmScore, Decision, Feedback, Response } from "../../schemas/types.ts";
import type { LogRow } from "../../state/log-replay-row.ts";

export interface ImportDependencies {
  clickhouse: Pick<ClickHouse, "insert">;
  embedder: Pick<Embedder, "embedAll">;
  arms: readonly RouteArm[];
  feedbackTopic: string;
  /** Identity of the file: 22 characters of its hash. */
  file: string;
  priorMean: number;
}

export interface ImportedRows {
  requests: number;
  answers: number;
  rewards: number;
}

const originOf = (file: string): Origin => ({ cluster: "import", topicId: file });
export const importOrigin = (file: string): string => originText(originOf(file));

/** Above every real partition number: positions of imports collide with no topic's. */
const importPartition = 1_000_000_000;
const topic = "import";

/** Takes the rows of a batch; first: the index of its first in the file. Rejects as ClickHouse. */
export function createLogImport({ clickhouse, embedder, arms, feedbackTopic, file, priorMean }: ImportDependencies) {
  const features = createFeatures();
  const origin = originOf(file);
  const candidates = computing(arms);

  /** Scores of all arms that could have been chosen; probability 0 where none is logged. */
  const scoresOf = ({ request, answer }: LogRow, embedding: Float32Array): ArmScore[] =>
    candidates.map(({ name, model, cost }) => {
      const question = lastUserTurn(request.messages);
      const promptCharacters = request.messages.reduce((sum, { content }) => sum + content.length, 0);
      const asked = { question, promptCharacters, messages: request.messages.length, embedding, examples: [], cost };
      const isChosen = answer?.arm === name;
      const logged = answer?.propensity ?? null;
      const rest = logged === null || candidates.length < 2 ? 0 : (1 - logged) / (candidates.length - 1);
      return {
        ...{ arm: name, model: isChosen ? (answer.model ?? model) : model, cost, context: features(asked) },
        ...{ mean: priorMean, deviation: 0, sampled: priorMean, bias: 0, saturation: 0, examples: [], trial: null },
        probability: isChosen ? (logged ?? 0) : rest,
      };
    });

  const decisionOf = (row: LogRow, embedding: Float32Array, index: number): Decision => ({
    ...{ requestId: row.request.id, tenant: row.request.tenant, partition: importPartition, offset: index },
    domain: sharingDomain(row.request.tenant, row.request.domain),
    featureVersion: FEATURE_VERSION,
    arms: scoresOf(row, embedding),
    arm: row.answer!.arm,
    // 0: it is not known, and off-policy evaluation leaves the decision out.
    probability: row.answer!.propensity ?? 0,
    ...{ alternativeArm: null, alternativeProbability: null, threshold: 0, exploredThreshold: null, load: row.load },
    ...{ policyVersion: 0, helpfulnessVersion: 0, helpfulnessFeatures: HELPFULNESS_FEATURE_VERSION, template: "" },
    ...{ asked: false, askProbability: null, alternative: false },
    ...{ breakers: {}, reuse: null, source: "imported", cacheKey: null },
    degraded: row.answer!.propensity === null ? ["propensity"] : [],
    ...{ timings: [], createdAt: row.request.createdAt },
  });

  const tablesOf = (row: LogRow, embedding: Float32Array | null, index: number): TableRows[] => {
    const { request, answer } = row;
    const at = { topic, partition: importPartition, offset: index, timestamp: request.createdAt, origin };
    const [arrival, asked] = rowsOf.requests(request, at);
    const tables = [asked!];
    if (answer !== null && embedding !== null) {
      tables.push(...rowsOf.responses(responseOf(row, answer), at));
      tables.push(...rowsOf.decisions(decisionOf(row, embedding, index), at));
      if (answer.reward !== null)
        tables.push(...rowsOf.feedback(feedbackOf(row, answer.reward), { ...at, topic: feedbackTopic }));
    }
    return [...tables, arrival!];
  };

  return async function importRows(rows: readonly LogRow[], first: number): Promise<ImportedRows> {
    const answered = rows.flatMap(({ answer }, i) => (answer === null ? [] : [i]));
    const vectors = await embedder.embedAll(answered.map((i) => lastUserTurn(rows[i]!.request.messages)));
    const embeddings = new Map(answered.map((i, k) => [i, vectors[k]!]));
    const byTable = new Map<string, TableRows["rows"][number][]>();
    rows.forEach((row, i) => {
      for (const { table, rows: some } of tablesOf(row, embeddings.get(i) ?? null, first + i)) {
        const known = byTable.get(table);
        if (known === undefined) byTable.set(table, [...some]);
        else known.push(...some);
      }
    });
    // What learn begins with comes after what it looks up.
    for (const table of [
      "requests",
      "responses",
      "example_uses",
      "example_trials",
      "decisions",
      "feedback",
      "request_arrivals",
    ]) {
      const some = byTable.get(table) ?? [];
      if (some.length > 0) await clickhouse.insert(table, some);
    }
    const rewards = answered.filter((i) => rows[i]!.answer!.reward !== null).length;
    return { requests: rows.length, answers: answered.length, rewards };
  };
}

function responseOf({ request }: LogRow, answer: NonNullable<LogRow["answer"]>): Response {
  const { promptTokens: prompt, completionTokens: completion, firstTokenMs: firstToken, serviceMs } = answer;
  return {
    ...{ requestId: request.id, tenant: request.tenant, attempt: 1, status: "ok", text: answer.text ?? "" },
    ...{ finishReason: answer.finishReason, arm: answer.arm, model: answer.model, failedArms: [], source: "imported" },
    ...{ asked: false, alternative: null },
    ...{ exampleIds: [], usage: { prompt, linked: 0, recomputed: 0, prefilled: prompt, completion, estimated: false } },
    ...{ duplicate: false, cost: answer.cost, savedCost: 0, account: null },
    ...{ error: null, passthrough: null, degraded: [] },
    timings: { plan: 0, queue: 0, firstToken, total: serviceMs ?? 0 },
    createdAt: request.createdAt + (serviceMs ?? 0),
  };
}

/** Without an author: no author's hourly feedback limit applies to a log. */
function feedbackOf({ request }: LogRow, value: number): Feedback {
  return {
    ...{ id: `import-${request.id}`, requestId: request.id, tenant: request.tenant, kind: "reward", value },
    ...{ range: null, source: "system", author: "", against: null, text: null, withdraws: null },
    ...{ comment: "imported", createdAt: request.createdAt },
  };
}
