// What is measured, in order of importance: a run that is cut short has the figures that matter
// most, and a bit of all.
import type { Convention } from "./caches.ts";
import type { Policies } from "./measure.ts";

export interface Part {
  workload: string;
  index: number;
  policies: Policies;
}

export interface ThroughputPart {
  /** So many of the parts. */
  after: number;
  workload: string;
  /**
   * Different requests; each number in flight answers all of them, and at least as many as it is,
   * some then twice.
   */
  count: number;
  convention: Convention;
  policies: readonly string[];
  inFlight: readonly number[];
}

export interface Plan {
  parts: Part[];
  throughput: ThroughputPart[];
  /**
   * Workloads of whose first request the caches are loaded from disk, after everything else of it
   * was measured.
   */
  loading: string[];
  /** Whether requests are also prefilled behind the prefix that they share; default true. */
  prefix?: boolean;
}

const cheapPolicies = ["naive", "attnlink-4", "last-1", "last-2", "last-3", "last-2+attnlink-2"];
/** Their tokens lie apart, each a decode of its own, or they look at the prompt first. */
const expensivePolicies = ["attnlink-16", "blend-15", "craft-0.4", "craft-0.4+focus", "random-20", "attended-20"];
const lasts = ["naive", "last-1", "last-2", "last-3"];
const passages = ["naive", "attnlink-4", "attnlink-8", "last-1"];
/**
 * With the first passage as it stands there nothing is repaired at its boundary, and the last
 * tokens are what counts.
 */
const behindSystem = ["naive", "attnlink-4", "prefix-2", "prefix-5", "last-1"];
/**
 * The convention and the policies that an arm has by default, and their neighbours: of every
 * request, for the interval of the F1 difference.
 */
const ofEvery: Policies = { context: lasts };
/** All others, of every third. */
const ofThird: Policies = {
  alone: ["naive", "attnlink-4", "last-2"],
  system: cheapPolicies,
  context: [...cheapPolicies, ...expensivePolicies],
  "context-1": ["naive", "last-1", "last-2"],
  seen: ["naive", "last-1", "last-2"],
};
const forPassages: Policies = {
  alone: ["naive", "attnlink-4"],
  system: passages,
  context: [...passages, "prefix-5", "attended-4"],
  "context+system": behindSystem,
  "context-1": ["naive", "attnlink-4"],
  seen: ["naive", "attnlink-4"],
};
const fewer: Policies = { system: ["naive", "last-1", "last-2"], context: lasts };
const forLong: Policies = { system: ["naive", "attnlink-4"], context: ["naive", "attnlink-4", "last-1"] };

/** Requests from, and not including, to, of a workload. */
const some = (workload: string, from: number, to: number, policies: Policies): Part[] =>
  Array.from({ length: to - from }, (_, i) => ({ workload, index: from + i, policies }));
const central = (from: number, to: number): Part[] =>
  some("nl2bash-10", from, to, ofEvery).map((part) => (part.index % 3 === 0 ? { ...part, policies: ofThird } : part));

export const fullPlan: Plan = {
  parts: [
    ...central(0, 9),
    ...some("musique-200", 0, 3, forPassages),
    ...some("nl2bash-20", 0, 3, fewer),
    ...some("sweep-4000", 0, 1, forLong),
    ...some("musique-512", 0, 2, forPassages),
    ...some("nl2bash-5", 0, 4, fewer),
    ...central(9, 18),
    ...some("sweep-1000", 0, 2, forLong),
    ...some("sweep-7500", 0, 1, forLong),
    ...some("musique-200", 3, 8, forPassages),
    ...some("nl2bash-20", 3, 8, fewer),
    ...central(18, 42),
    ...some("musique-512", 2, 5, forPassages),
    ...some("nl2bash-20", 8, 14, fewer),
    ...central(42, 60),
    ...some("musique-200", 8, 12, forPassages),
    ...some("nl2bash-5", 4, 16, fewer),
    ...some("musique-512", 5, 8, forPassages),
    ...some("sweep-4000", 1, 2, forLong),
  ],
  throughput: [
    {
      after: 22,
      workload: "nl2bash-10",
      count: 8,
      convention: "context",
      policies: ["full", "last-2"],
      inFlight: [1, 4, 8],
    },
    {
      after: 44,
      workload: "sweep-4000",
      count: 2,
      convention: "context",
      policies: ["full", "naive", "attnlink-4"],
      inFlight: [1, 4, 8],
    },
  ],
  loading: ["nl2bash-10", "musique-200", "musique-512"],
};

/** `--only passages`: what arms do, of more requests than the whole run has time for. */
export const passagesPlan: Plan = {
  parts: Array.from({ length: 24 }, (_, index) => index).flatMap((index) =>
    ["musique-200", "musique-512"].flatMap((workload) =>
      some(workload, index, index + 1, {
        context: ["naive", "attnlink-4"],
        "context+system": ["naive", "attnlink-4", "prefix-5"],
      }),
    ),
  ),
  prefix: false,
  throughput: [],
  loading: [],
};

/** `--only throughput`: two waves of eight in flight; the whole run has time for one. */
export const throughputPlan: Plan = {
  parts: [],
  throughput: [{ ...fullPlan.throughput[0]!, after: 0, count: 16 }],
  loading: [],
};

export const quickPlan: Plan = {
  parts: [
    ...some("nl2bash-10", 0, 1, {
      alone: ["naive"],
      system: ["naive", "last-2"],
      context: ["naive", "attnlink-4", "last-2"],
    }),
    ...some("nl2bash-5", 0, 1, { context: ["naive", "last-2"] }),
    ...some("musique-100", 0, 1, { system: ["naive", "attnlink-4"] }),
    ...some("sweep-500", 0, 1, { system: ["naive"] }),
  ],
  throughput: [
    {
      after: 4,
      workload: "nl2bash-5",
      count: 2,
      convention: "system",
      policies: ["full", "last-2"],
      inFlight: [1, 2],
    },
  ],
  loading: ["nl2bash-5"],
};
