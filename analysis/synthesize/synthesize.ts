// One run of `precedent examples synthesize` (docs/privacy.md): a model writes questions from
// public text, private examples vote with noise, it varies the winners; another answers the last
// ones, for the topic `observations`. Results are stored before use, so an interrupted run
// continues.
import pLimit from "p-limit";
import { epsilonOf, muOf, type Privacy } from "../../algorithms/privacy/gaussian-privacy.ts";
import { seatsByVotes, votesOf } from "../../algorithms/privacy/private-votes.ts";
import { noTenant, sharedDomainNamed } from "../../algorithms/selection/shared-domains.ts";
import type { Arm, ArmResult } from "../../arms/arm.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Observation, Piece } from "../../schemas/types.ts";
import { freshQuestion, likeQuestion, readQuestion } from "./questions.ts";
import { muSpent, readRounds, writeRound } from "./rounds.ts";

export interface SynthesisDependencies {
  clickhouse: Pick<ClickHouse, "query" | "insert">;
  embedder: Pick<Embedder, "embedAll">;
  writer: Pick<Arm, "answer" | "concurrency">;
  answerer: Pick<Arm, "answer" | "concurrency" | "name" | "model">;
  privateQuestions: () => Promise<string[]>;
  publish: (observation: Observation) => Promise<void>;
  /** Draws from the standard normal distribution, by a secure source. */
  normal: () => number;
  clock: () => number;
}

export interface SynthesisRun {
  runId: string;
  domain: string;
  about: string;
  budget: Privacy;
  epsilon?: number | undefined;
  count: number;
  rounds: number;
  /** What their answers are taken for, [0, 1]. */
  quality: number;
  signal: AbortSignal;
  onProgress?: (step: string, done: number, all: number) => void;
}

export interface Synthesis {
  published: number;
  epsilonSpent: number;
  noise: number;
}

/** What can't be begun, and what to do. */
export class SynthesisError extends Error {
  override name = "SynthesisError";
}

/** Milliseconds for one call. */
const callMs = 120_000;

export async function synthesize(dependencies: SynthesisDependencies, run: SynthesisRun): Promise<Synthesis> {
  const { clickhouse, embedder, privateQuestions, clock } = dependencies;
  const { runId, count, rounds, budget } = run;
  const shared = sharedDomainNamed(run.domain);
  const before = await readRounds(clickhouse, shared);
  const done = before.filter((round) => round.runId === runId);
  const noise = done[0]?.noise ?? noiseOf(run, muSpent(before));

  let chosen = done.at(-1)?.chosen ?? [];
  if (done.length < rounds) {
    const vectors = await embedder.embedAll(await privateQuestions());
    for (let round = done.length + 1; round <= rounds; round++) {
      // Again each time: another run may spend beside this one, and more rounds than it began with
      // were never paid for.
      const spent = muSpent([...(await readRounds(clickhouse, shared)), { noise }]);
      if (spent > muOf(budget) * (1 + rounding)) throw exceeded(run, 0);
      const step = `questions, round ${round} of ${rounds}`;
      const candidates = await questionsOf(dependencies, run, { step, round, chosen, wanted: 2 * count });
      const votes = votesOf(vectors, await embedder.embedAll(candidates));
      const best = seatsByVotes(votes, { count, deviation: noise, normal: dependencies.normal });
      chosen = best.map((i) => candidates[i]!);
      await writeRound(clickhouse, shared, { runId, round, noise, chosen }, clock());
    }
  }
  const last = { step: "questions like those chosen", round: rounds + 1, chosen, wanted: count };
  const published = await answerAll(dependencies, run, await questionsOf(dependencies, run, last));
  const epsilonSpent = epsilonOf(budget.delta, muSpent(await readRounds(clickhouse, shared)));
  return { published, epsilonSpent, noise };
}

function noiseOf(run: SynthesisRun, spent: number): number {
  const { budget, epsilon } = run;
  const all = muOf(budget);
  const left = Math.sqrt(Math.max(0, all ** 2 - spent ** 2));
  const wanted = epsilon === undefined ? left : muOf({ epsilon, delta: budget.delta });
  const isSpent = left < 1e-3 * all;
  if (isSpent || wanted > left * (1 + rounding)) throw exceeded(run, isSpent ? 0 : epsilonOf(budget.delta, left));
  return Math.sqrt(run.rounds) / wanted;
}

/** What is reckoned by roots of squares differs in its last digits. */
const rounding = 1e-9;

const exceeded = ({ domain, budget }: SynthesisRun, rest: number): SynthesisError =>
  new SynthesisError(
    `of the budget of ${domain} (epsilon ${budget.epsilon}) a run of epsilon ${rest.toPrecision(3)} is left: what is spent never comes back`,
  );

/** The chosen ones and others like them, as many as wanted or as the model has. */
async function questionsOf(
  { writer }: SynthesisDependencies,
  { runId, about, signal, onProgress }: SynthesisRun,
  { step, round, chosen, wanted }: { step: string; round: number; chosen: readonly string[]; wanted: number },
): Promise<string[]> {
  const questions = new Set(chosen);
  let failed = "";
  const atOnce = pLimit(Math.max(1, writer.concurrency));
  // Models repeat themselves: so many calls more than questions are wanted.
  const calls = Array.from({ length: 2 * Math.max(0, wanted - questions.size) }, (_, call) => call);
  const write = async (call: number): Promise<void> => {
    signal.throwIfAborted();
    if (questions.size >= wanted) return;
    const like = chosen[call % Math.max(1, chosen.length)];
    const pieces = like === undefined ? freshQuestion(about) : likeQuestion(about, like);
    // A seed of its own: what was asked for before would come again.
    const params = { temperature: 1, seed: round * 1_000_000 + call, maxTokens: 96 };
    const written = await ask(writer, `${runId}-${round}-${call}`, pieces, params, signal);
    if (written.kind === "failure") failed = `: ${written.code}, ${written.message}`;
    const question = written.kind === "failure" ? null : readQuestion(written.text);
    if (question === null || questions.size >= wanted) return;
    questions.add(question);
    onProgress?.(step, questions.size, wanted);
  };
  await Promise.all(calls.map((call) => atOnce(() => write(call))));
  if (questions.size === 0) throw new SynthesisError(`the arm that is to write questions wrote none${failed}`);
  return [...questions].slice(0, wanted);
}

async function answerAll(
  { answerer, publish, clock }: SynthesisDependencies,
  { runId, domain, quality, signal, onProgress }: SynthesisRun,
  questions: readonly string[],
): Promise<number> {
  const atOnce = pLimit(Math.max(1, answerer.concurrency));
  let failed = "";
  let published = 0;
  let asked = 0;
  const answer = async (question: string, i: number): Promise<void> => {
    signal.throwIfAborted();
    const pieces: Piece[] = [{ kind: "turn", id: null, role: "user", text: question }];
    const given = await ask(answerer, `${runId}-answer-${i}`, pieces, { temperature: 0 }, signal);
    onProgress?.("answers", ++asked, questions.length);
    if (given.kind === "failure") failed = `: ${given.code}, ${given.message}`;
    // What was cut off is no example.
    if (given.kind === "failure" || given.finishReason !== "stop" || given.text.trim() === "") return;
    const { text } = given;
    const createdAt = clock();
    const request = plainRequest(question, { tenant: noTenant, domain, createdAt });
    const source = { arm: answerer.name, model: answerer.model, requestId: null };
    await publish({ tenant: noTenant, domain, request, text, source, quality, createdAt });
    published++;
  };
  await Promise.all(questions.map((question, i) => atOnce(() => answer(question, i))));
  if (published === 0) throw new SynthesisError(`none of ${questions.length} questions was answered${failed}`);
  return published;
}

async function ask(
  arm: Pick<Arm, "answer">,
  requestId: string,
  pieces: Piece[],
  params: { temperature: number; seed?: number; maxTokens?: number },
  signal: AbortSignal,
): Promise<ArmResult> {
  const all = { maxTokens: null, topP: null, seed: null, stop: [], ...params };
  const answer = await arm.answer({ requestId, pieces, params: all, deadline: Date.now() + callMs }, signal);
  signal.throwIfAborted();
  return answer;
}
