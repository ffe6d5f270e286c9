// curate: good answers become examples, expired or worthless ones leave. A singleton
// (runtime/singleton.ts), repeated. Changes are published, then decisions written, then the cursor
// moves: a broken-off pass repeats.
import type { Admission } from "../../operators/admit/admit.ts";
import type { Candidate, CandidateBatch, Cursor } from "../../operators/admit/candidates.ts";
import type { Decided } from "../../operators/admit/decide.ts";
import { createEviction, noEviction, type EvictionDependencies } from "../../operators/evict/evict.ts";
import type { Declaration } from "../../runtime/declaration.ts";
import { pass } from "../../runtime/pass.ts";

export interface CurateDependencies extends EvictionDependencies {
  candidates: () => Promise<CandidateBatch>;
  /** Decides on one batch; what fails is left for later and holds no other up. */
  decide: (candidates: readonly Candidate[]) => Promise<Decided>;
  remember: (
    decided: readonly { candidate: Candidate; admission: Admission }[],
    cursors: readonly Cursor[],
  ) => Promise<void>;
  evictEveryMs: number;
  signal: AbortSignal;
}

const declaration = {
  name: "curate",
  sources: ["ClickHouse"],
  tables: ["examples"],
  outputs: ["examples", "ClickHouse"],
} as const satisfies Declaration;

const steps = pass<CurateDependencies>()
  .step(
    "find",
    ({ candidates, signal }) =>
      () =>
        candidates().finally(() => signal.throwIfAborted()),
  )
  .step(
    "admit",
    ({ decide }) =>
      ({ candidates }) =>
        decide(candidates),
  )
  .step(
    "publish",
    ({ publish }) =>
      ({ decided }) =>
        publish(decided.flatMap(({ admission }) => admission.changes)),
  )
  // What waits must be read again: the cursor stays before it.
  .step(
    "remember",
    ({ remember }) =>
      ({ decided, waiting, cursors }) =>
        remember(decided, waiting > 0 ? [] : cursors),
  )
  .every("evict", ({ evictEveryMs }) => evictEveryMs, noEviction, createEviction)
  .end();

export const curate = { ...declaration, ...steps } as const;
