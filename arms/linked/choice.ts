// Which policies a request gets, and which prefills are compared with full ones. Measurements live
// outside of the model's process; other processes' come from history.ts.
import { chunkKinds, type ChunkKind, isCraft, pairName } from "../../algorithms/linked-prefill/link-policy.ts";
import {
  addSample,
  choosePolicy,
  memory,
  noRecord,
  type PolicyRecord,
} from "../../algorithms/linked-prefill/policy-choice.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { Comparison, Sample } from "./idle.ts";

export interface Chosen {
  kind: ChunkKind;
  policy: string;
  /** What it is known by; null: nothing has proved itself, and this one is the safest guess. */
  record: PolicyRecord | null;
}

export type PastSample = Pick<Sample, "requestId" | "policy" | "kl" | "recomputedShare">;

export type LinkedChoice = ReturnType<typeof createLinkedChoice>;

type ByKind = Readonly<Record<ChunkKind, readonly string[]>>;
/** Choices of auto for each kind, cheap to expensive. */
const choices: ByKind = {
  short: ["naive", "attnlink-2", "last-1", "last-1+attnlink-2", "last-2", "last-3"],
  long: ["naive", "attnlink-4", "attnlink-16", "last-1", "last-1+attnlink-16", "last-2"],
};
/** Besides, where caches are scored. */
const scoredChoices: ByKind = { short: [], long: ["craft-0.1", "craft-0.3"] };
/** While nothing is proved (policy-choice.ts); measurements: docs/linked-prefill.md. */
const ladders: ByKind = {
  short: ["last-2", "last-3", "full"],
  long: ["attnlink-4", "last-1+attnlink-16", "last-2", "full"],
};
const scoredLadders: ByKind = { ...ladders, long: ["attnlink-4", "craft-0.3", "last-2", "full"] };
/** A policy of a kind in samples: what is measured on one kind says nothing of the other. */
const sampleName = (kind: ChunkKind, policy: string): string => `${kind}:${policy}`;
const choicesOf = (kind: ChunkKind, scored: boolean): readonly string[] =>
  scored ? [...choices[kind], ...scoredChoices[kind]] : choices[kind];
export const candidatesOf = (scored: boolean): string[] =>
  chunkKinds.flatMap((kind) => choicesOf(kind, scored).map((policy) => sampleName(kind, policy)));
/** Samples of a policy before auto believes them, and before it believes that one is too bad. */
const least = 20;
const leastAgainst = 5;
/** Share of requests that are compared until something is proved of each kind. */
const learningShare = 0.25;
/** Requests of a process that are compared for it, at most. */
const mostLearned = 8 * least;
/** Older samples of a policy count for next to nothing. */
export const mostPast = 4 * memory;
/** Readings after which a missing sample counts as lost. */
const mostReadings = 10;

export interface ChoiceOptions {
  policy: string;
  sampleShare: number;
  maxKl: Readonly<Record<ChunkKind, number>>;
  /** Whether the arm's caches have scores, which craft goes by. Default false. */
  scored?: boolean;
}

export function createLinkedChoice({ policy, sampleShare, maxKl, scored = false }: ChoiceOptions, random: Random) {
  const isAuto = policy === "auto";
  const candidates = candidatesOf(scored);
  const ladderOf = (kind: ChunkKind): readonly string[] => (scored ? scoredLadders : ladders)[kind];
  let records = new Map<string, PolicyRecord>();
  /** Added here and not read back yet, oldest first. */
  let own: { sample: PastSample; readings: number }[] = [];
  const take = ({ policy: name, kl, recomputedShare }: PastSample): void => {
    records.set(name, addSample(records.get(name) ?? noRecord, kl, recomputedShare));
  };
  const choose = (kind: ChunkKind): Chosen => {
    const known = choicesOf(kind, scored).flatMap((name) => {
      const record = records.get(sampleName(kind, name));
      return record === undefined ? [] : [[name, record] as const];
    });
    const limits = { bound: maxKl[kind], least, leastAgainst, ladder: ladderOf(kind) };
    return { kind, ...choosePolicy(new Map(known), limits) };
  };
  let learned = 0;
  // Bounded, for a kind that never comes is never proved.
  const isLearning = (): boolean =>
    isAuto && learned < mostLearned && chunkKinds.some((kind) => choose(kind).record === null && hasRoom(kind));
  const hasRoom = (kind: ChunkKind): boolean =>
    choicesOf(kind, scored).some((name) => (records.get(sampleName(kind, name))?.weight ?? 0) < least);
  return {
    /**
     * Name of the policies. `asked`: by the request; craft counts only where caches have scores.
     */
    policy: (asked: string | null): string => {
      if (asked !== null && (scored || !isCraft(asked))) return asked;
      if (!isAuto) return policy;
      return pairName(choose("short").policy, choose("long").policy);
    },
    compare(request: Pick<Comparison, "requestId" | "tenant">, used: string): Comparison | null {
      const learns = sampleShare > 0 && isLearning();
      if (random() >= (learns ? Math.max(sampleShare, learningShare) : sampleShare)) return null;
      if (learns) learned++;
      return { ...request, policies: (isAuto ? [...candidates, used] : [used]).filter((name) => name !== "full") };
    },
    add(sample: PastSample): void {
      take(sample);
      if (!isAuto) return;
      own.push({ sample, readings: 0 });
      if (own.length > mostPast * candidates.length) own.shift();
    },
    /** What all processes measured, oldest first, in place of what was known. */
    restore(samples: readonly PastSample[]): void {
      const identity = ({ requestId, policy: name }: PastSample): string => `${name} ${requestId}`;
      const read = new Set(samples.map(identity));
      own = own
        .filter(({ sample, readings }) => !read.has(identity(sample)) && readings < mostReadings)
        .map(({ sample, readings }) => ({ sample, readings: readings + 1 }));
      records = new Map();
      for (const sample of samples) take(sample);
      for (const { sample } of own) take(sample);
    },
    /** By kind of chunk; empty where a policy is set. */
    chosen: (): Chosen[] => (isAuto ? chunkKinds.map(choose) : []),
  };
}
