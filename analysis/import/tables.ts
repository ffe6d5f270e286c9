// The rows that record would have stored of an imported log's request, answer and feedback.
import { createFeatures, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { bestLast } from "../../algorithms/selection/example-order.ts";
import { HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import type { Origin } from "../../algorithms/identity/origin.ts";
import { computing, type RouteArm } from "../../arms/routed.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { lastUserTurn } from "../../operators/validate/validate.ts";
import type { TableRows } from "../../runtime/rows.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { ArmScore, Decision, Feedback, Response } from "../../schemas/types.ts";
import type { LogRow } from "../../state/log-replay-row.ts";
import { prefillOf } from "../../state/log-replay-world.ts";
import { firstGuess } from "../../state/policies/prior.ts";
import type { ImportedRequest } from "./known.ts";
import type { ForeignFeedback } from "./presets/preset.ts";

export interface TableOptions {
  arms: readonly RouteArm[];
  feedbackTopic: string;
  /** Identity of the file and of how it is read: 22 characters of a hash. */
  file: string;
}

/** Above every real partition number: positions of imports collide with no topic's. */
const importPartition = 1_000_000_000;
const topic = "import";

export function createTables({ arms, feedbackTopic, file }: TableOptions) {
  const features = createFeatures();
  const origin: Origin = { cluster: "import", topicId: file };
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
  return { tablesOf, feedbackRows };
}

function responseOf({ request }: LogRow, answer: NonNullable<LogRow["answer"]>): Response {
  const { promptTokens: prompt, completionTokens: completion, firstTokenMs: firstToken, serviceMs } = answer;
  const usage = { ...NO_USAGE, prompt, completion, ...prefillOf(answer) };
  return {
    ...{ requestId: request.id, tenant: request.tenant, domain: sharingDomain(request.tenant, request.domain) },
    ...{ attempt: 1, status: "ok", text: answer.text ?? "", exampleTokens: 0 },
    ...{ finishReason: answer.finishReason, stopSequence: null, arm: answer.arm, model: answer.model },
    ...{ failedArms: [], source: "imported" },
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

export function foreignFeedback(
  request: ImportedRequest,
  { id, value, text, author, createdAt }: ForeignFeedback,
): Feedback {
  const made = text === null ? rewardOf(request, value ?? 0) : correctionOf(request, text);
  return { ...made, id: `import-${id}`, author, createdAt: createdAt ?? request.createdAt };
}
