// Imports another system's log (docs/import.md) as the rows that record would have stored; nothing
// on topics. What is there is not written again. Feedback comes last of each batch, under an origin
// of its own, where learn finds it.
import { bestLast } from "../../algorithms/selection/example-order.ts";
import { createFeatures, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import { requestKey, sharingDomain } from "../../algorithms/identity/identity.ts";
import type { Origin } from "../../algorithms/identity/origin.ts";
import { mask } from "../../algorithms/privacy/mask.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { hasTexts, rewrite, scopeOfRow } from "../../operators/redact/columns.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import { computing, type RouteArm } from "../../arms/routed.ts";
import { lastUserTurn } from "../../operators/validate/validate.ts";
import type { Row, TableRows } from "../../runtime/rows.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { ArmScore, Decision, Feedback, Response } from "../../schemas/types.ts";
import type { LogRow } from "../../state/log-replay-row.ts";
import { prefillOf } from "../../state/log-replay-world.ts";
import { firstGuess } from "../../state/policies/prior.ts";
import { createKnown, feedbackKey, type ImportedRequest } from "./known.ts";
import type { ForeignFeedback } from "./presets/preset.ts";

export interface ImportDependencies {
  clickhouse: Pick<ClickHouse, "insert" | "query">;
  embedder: Pick<Embedder, "embedAll">;
  arms: readonly RouteArm[];
  feedbackTopic: string;
  /** Identity of the file and of how it is read: 22 characters of a hash. */
  file: string;
  /** As privacy.redact.clickhouse; absent: texts are written as they are. */
  redact?: { key: string; ipAddresses: boolean } | undefined;
  /** A row is left out. */
  onProblem: (reason: string, row: number) => void;
}

export interface ImportedRows {
  requests: number;
  answers: number;
  rewards: number;
  corrections: number;
  /** They were there already. */
  known: number;
}
const nothing: ImportedRows = { requests: 0, answers: 0, rewards: 0, corrections: 0, known: 0 };

/** row: from 1, in the file. */
export type ImportRow = { row: number } & ({ log: LogRow } | { feedback: ForeignFeedback });

/** Above every real partition number: positions of imports collide with no topic's. */
const importPartition = 1_000_000_000;
const topic = "import";

/** Takes the rows of a batch. Rejects as ClickHouse. */
export function createLogImport(dependencies: ImportDependencies) {
  const { clickhouse, embedder, arms, feedbackTopic, file, redact, onProblem } = dependencies;
  const features = createFeatures();
  const origin: Origin = { cluster: "import", topicId: file };
  const known = createKnown(clickhouse);
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
        ...{
          mean: firstGuess.priorMean,
          deviation: 0,
          sampled: firstGuess.priorMean,
          bias: 0,
          saturation: 0,
          cachedShare: 0,
          examples: [],
          trial: null,
        },
        ...bestLast,
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
    ...{ breakers: {}, reuse: null, experiment: null, source: "imported", cacheKey: null },
    degraded: row.answer!.propensity === null ? ["propensity"] : [],
    ...{ timings: [], createdAt: row.request.createdAt },
  });

  const at = (index: number, timestamp: number) => ({
    topic,
    partition: importPartition,
    offset: index,
    timestamp,
    origin,
  });
  const feedbackRows = (feedback: Feedback, index: number): TableRows[] =>
    rowsOf.feedback(feedback, { ...at(index, feedback.createdAt), topic: feedbackTopic });

  const tablesOf = (log: LogRow, embedding: Float32Array | null, index: number): TableRows[] => {
    const { request, answer, correction = null } = log;
    const position = at(index, request.createdAt);
    const [arrival, asked] = rowsOf.requests(request, position);
    const tables = [asked!];
    if (answer !== null && embedding !== null) {
      tables.push(...rowsOf.responses(responseOf(log, answer), position));
      tables.push(...rowsOf.decisions(decisionOf(log, embedding, index), position));
      if (answer.reward !== null) tables.push(...feedbackRows(rewardOf(request, answer.reward), index));
    }
    if (correction !== null) tables.push(...feedbackRows(correctionOf(request, correction), index));
    return [...tables, arrival!];
  };

  async function insert(tables: readonly TableRows[]): Promise<void> {
    const byTable = new Map<string, Row[]>();
    for (const { table, rows } of tables) byTable.set(table, (byTable.get(table) ?? []).concat(rows));
    for (const table of inOrder) {
      const rows = byTable.get(table) ?? [];
      if (rows.length > 0)
        await clickhouse.insert(table, redact === undefined ? rows : redactedRows(table, rows, redact));
    }
  }

  async function importLogs(given: readonly { row: number; log: LogRow }[]): Promise<ImportedRows> {
    const asked = given.map(({ log }) => log.request);
    const [there, erased] = [await known.requests(asked), await known.erased(asked)];
    let repeated = 0;
    const rows = given.filter(({ row, log: { request } }) => {
      const key = requestKey(request.tenant, request.id);
      const [isErased, isThere] = [erased.has(key), there.has(key)];
      if (isErased) onProblem("it was erased here (precedent forget)", row);
      else if (isThere) repeated++;
      else there.add(key);
      return !isErased && !isThere;
    });
    const answered = rows.flatMap(({ log: { answer } }, i) => (answer === null ? [] : [i]));
    const vectors = await embedder.embedAll(answered.map((i) => lastUserTurn(rows[i]!.log.request.messages)));
    const embeddings = new Map(answered.map((i, k) => [i, vectors[k]!]));
    await insert(rows.flatMap(({ row, log }, i) => tablesOf(log, embeddings.get(i) ?? null, row)));
    return {
      ...{ requests: rows.length, answers: answered.length },
      rewards: rows.filter(({ log }) => (log.answer?.reward ?? null) !== null).length,
      corrections: rows.filter(({ log }) => (log.correction ?? null) !== null).length,
      known: repeated,
    };
  }

  /** On requests that are imported, whose tenant it then has. */
  async function importFeedback(given: readonly { row: number; feedback: ForeignFeedback }[]): Promise<ImportedRows> {
    const targets = await known.targets(given.map(({ feedback }) => feedback));
    const made = given.flatMap(({ row, feedback }, i) => {
      const requests = targets[i]!;
      if (requests.length === 0) onProblem("no request that it is on is imported", row);
      const isMixed = new Set(requests.map(({ tenant }) => tenant)).size > 1;
      if (isMixed) onProblem("several tenants have a request that it is on", row);
      return isMixed ? [] : requests.map((request) => ({ row, feedback: foreignFeedback(request, feedback) }));
    });
    const there = await known.feedback(made.map(({ feedback }) => feedback));
    const fresh = made.filter(({ feedback }) => !there.has(feedbackKey(feedback)));
    await insert(fresh.flatMap(({ row, feedback }) => feedbackRows(feedback, row)));
    const corrections = fresh.filter(({ feedback }) => feedback.kind === "correction").length;
    return { ...nothing, corrections, rewards: fresh.length - corrections, known: made.length - fresh.length };
  }

  return async function importRows(rows: readonly ImportRow[]): Promise<ImportedRows> {
    const logs = rows.flatMap((one) => ("log" in one ? [one] : []));
    const feedback = rows.flatMap((one) => ("feedback" in one ? [one] : []));
    const done = logs.length === 0 ? nothing : await importLogs(logs);
    return feedback.length === 0 ? done : added(done, await importFeedback(feedback));
  };
}

export const added = (one: ImportedRows, other: ImportedRows): ImportedRows =>
  Object.fromEntries(
    (Object.keys(one) as (keyof ImportedRows)[]).map((name) => [name, one[name] + other[name]]),
  ) as unknown as ImportedRows;

/** What learn begins with comes after what it looks up; an arrival says that all of it is there. */
const inOrder = [
  "requests",
  "responses",
  "example_uses",
  "example_trials",
  "decisions",
  "feedback",
  "request_arrivals",
];

/** As record does it. */
const redactedRows = (table: string, rows: readonly Row[], options: { key: string; ipAddresses: boolean }): Row[] =>
  rows.map((row) => {
    if (!hasTexts(table)) return row;
    const scope = scopeOfRow(table, row);
    const clean = (text: string, form: "text" | "json" = "text"): string => mask([{ text, scope, form }], options)[0]!;
    return rewrite(table, row, clean, options.key);
  });

function responseOf({ request }: LogRow, answer: NonNullable<LogRow["answer"]>): Response {
  const { promptTokens: prompt, completionTokens: completion, firstTokenMs: firstToken, serviceMs } = answer;
  const usage = { ...NO_USAGE, prompt, completion, ...prefillOf(answer) };
  return {
    ...{ requestId: request.id, tenant: request.tenant, domain: sharingDomain(request.tenant, request.domain) },
    ...{ attempt: 1, status: "ok", text: answer.text ?? "", exampleTokens: 0 },
    ...{ finishReason: answer.finishReason, arm: answer.arm, model: answer.model, failedArms: [], source: "imported" },
    ...{ asked: false, alternative: null },
    ...{ exampleIds: [], usage, duplicate: false, account: null },
    ...{ cost: answer.cost, failedCost: 0, billed: 1, savedCost: 0 },
    ...{ error: null, passthrough: answer.passthrough ?? null, linkPolicy: null, degraded: [] },
    timings: { plan: 0, queue: 0, firstToken, total: serviceMs ?? 0 },
    createdAt: request.createdAt + (serviceMs ?? 0),
  };
}

/** Without an author: no author's hourly feedback limit applies to a log. */
const loggedFeedback = ({ id, tenant, createdAt }: ImportedRequest): Feedback =>
  plainFeedback({
    ...{ id: `import-${id}`, requestId: id, tenant, kind: "reward", source: "system", comment: "imported", createdAt },
  });
const rewardOf = (request: ImportedRequest, value: number): Feedback => ({ ...loggedFeedback(request), value });
const correctionOf = (request: ImportedRequest, text: string): Feedback => ({
  ...loggedFeedback(request),
  ...{ id: `import-${request.id}-correction`, kind: "correction", text, source: "person" },
});

function foreignFeedback(request: ImportedRequest, { id, value, text, author, createdAt }: ForeignFeedback): Feedback {
  const made = text === null ? rewardOf(request, value ?? 0) : correctionOf(request, text);
  return { ...made, id: `import-${id}`, author, createdAt: createdAt ?? request.createdAt };
}
