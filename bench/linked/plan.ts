// What is measured, in order of importance: a run that is cut short has the figures that matter most, and a bit of all.
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
  /** Requests; each number in flight answers all of them. */
  count: number;
  convention: Convention;
  policies: readonly string[];
  inFlight: readonly number[];
}

export interface Plan {
  parts: Part[];
  throughput: ThroughputPart[];
}

const cheap = ["naive", "attnlink-4", "last-1", "last-2", "last-3", "last-2+attnlink-2"];
/** Their tokens lie apart, each a decode of its own: so dear that a third of the requests must do. */
const dear = ["attnlink-16", "blend-15", "craft-0.4", "random-20"];
const passages = ["naive", "attnlink-4", "attnlink-8", "last-1"];
const forExamples: Policies = { alone: ["naive", "attnlink-4", "last-2"], system: cheap, context: cheap };
const withDear: Policies = { alone: cheap, system: [...cheap, "attnlink-16"], context: [...cheap, ...dear] };
const forPassages: Policies = { alone: ["naive", "attnlink-4"], system: passages, context: passages };
const fewer: Policies = {
  alone: ["naive"],
  system: ["naive", "last-1", "last-2"],
  context: ["naive", "last-1", "last-2", "last-3"],
};
const forLong: Policies = { alone: [], system: ["naive", "attnlink-4"], context: ["naive", "attnlink-4", "last-1"] };

/** Requests from, and not including, to, of a workload. */
const some = (workload: string, from: number, to: number, policies: Policies): Part[] =>
  Array.from({ length: to - from }, (_, i) => ({ workload, index: from + i, policies }));
const central = (from: number, to: number): Part[] =>
  some("nl2bash-10", from, to, forExamples).map((part) =>
    part.index % 3 === 0 ? { ...part, policies: withDear } : part,
  );

export const fullPlan: Plan = {
  parts: [
    ...central(0, 9),
    ...some("musique-200", 0, 3, forPassages),
    ...some("nl2bash-20", 0, 3, fewer),
    ...some("sweep-4000", 0, 1, forLong),
    ...central(9, 18),
    ...some("musique-512", 0, 2, forPassages),
    ...some("musique-200", 3, 6, forPassages),
    ...some("nl2bash-20", 3, 6, fewer),
    ...some("nl2bash-5", 0, 6, fewer),
    ...central(18, 30),
    ...some("sweep-1000", 0, 2, forLong),
    ...some("sweep-7500", 0, 1, forLong),
    ...some("nl2bash-20", 6, 12, fewer),
    ...some("musique-200", 6, 12, forPassages),
    ...some("musique-512", 2, 6, forPassages),
    ...some("sweep-4000", 1, 2, forLong),
    ...central(30, 60),
    ...some("nl2bash-20", 12, 30, fewer),
    ...some("musique-200", 12, 20, forPassages),
    ...some("musique-512", 6, 20, forPassages),
    ...some("sweep-1000", 2, 3, forLong),
    ...some("sweep-4000", 2, 3, forLong),
    ...some("sweep-7500", 1, 3, forLong),
    ...some("nl2bash-5", 6, 30, fewer),
  ],
  throughput: [
    {
      after: 16,
      workload: "nl2bash-10",
      count: 8,
      convention: "context",
      policies: ["full", "last-2"],
      inFlight: [1, 4, 8],
    },
    {
      after: 39,
      workload: "sweep-4000",
      count: 4,
      convention: "system",
      policies: ["full", "attnlink-4"],
      inFlight: [1, 4],
    },
  ],
};

const glance: Policies = {
  alone: ["naive"],
  system: ["naive", "last-2"],
  context: ["naive", "attnlink-4", "last-1", "last-2"],
};

export const quickPlan: Plan = {
  parts: [
    ...some("nl2bash-10", 0, 1, { ...glance, context: [...glance.context, "blend-15"] }),
    ...some("nl2bash-10", 1, 2, glance),
    ...some("musique-200", 0, 1, { alone: [], system: [], context: ["naive", "attnlink-4"] }),
    ...some("sweep-1000", 0, 1, { alone: [], system: ["naive", "attnlink-4"], context: [] }),
  ],
  throughput: [
    {
      after: 4,
      workload: "nl2bash-10",
      count: 2,
      convention: "system",
      policies: ["full", "last-2"],
      inFlight: [1, 2],
    },
  ],
};
