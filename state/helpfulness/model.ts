// The helpfulness model in force: a new version is tried beside the old one, which closes without
// users. One that fails leaves the old one. No request waits.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { messageOf } from "../../connections/errors.ts";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { decodeHelpfulnessPolicy, HELPFULNESS } from "../policies/helpfulness.ts";
import type { PolicyMetrics } from "../policies/metrics.ts";
import type { Policy } from "../../schemas/types.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";

export interface ModelHolderDependencies {
  /** connections/helpfulness/onnx.ts. Rejects with HelpfulnessError. */
  load(model: { bytes: Uint8Array; version: number; log: Logger }): Promise<HelpfulnessModel>;
  metrics: PolicyMetrics;
  log: Logger;
  /** Milliseconds that a replaced model stays open; default 10,000. */
  graceMs?: number;
  /** Milliseconds after which a model that does not load is given up; 30,000 by default. */
  loadMs?: number;
}

interface Leased {
  model: HelpfulnessModel;
  /** Closes it once `grace` has resolved and its calls are done. */
  retire(grace: Promise<unknown>): Promise<void>;
}

export function createModelHolder(dependencies: ModelHolderDependencies) {
  const { load, metrics, log, graceMs = 10_000, loadMs = 30_000 } = dependencies;
  const closing = new AbortController();
  const retiring = new Set<Promise<void>>();
  let leased: Leased | null = null;
  let newest = 0;
  // The newest record not looked at yet; null: a tombstone. Versions in between are passed over.
  let waiting: Policy | null | undefined;
  let working: Promise<void> = Promise.resolve();
  let isWorking = false;
  metrics.version(HELPFULNESS, 0);
  metrics.refused(HELPFULNESS, false);

  const replace = (next: Leased | null): void => {
    const old = leased;
    leased = next;
    metrics.version(HELPFULNESS, next?.model.version ?? 0);
    metrics.refused(HELPFULNESS, false);
    if (old === null) return;
    const grace = sleep(graceMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    const retired = old.retire(grace).catch((error: unknown) => {
      log.warn(
        { err: error, policy: HELPFULNESS, version: old.model.version },
        "a replaced helpfulness model did not close",
      );
    });
    retiring.add(retired);
    void retired.then(() => retiring.delete(retired));
  };

  const take = async (record: Policy): Promise<void> => {
    const began = performance.now();
    const model = await open(record, { load, log, loadMs });
    if ("problem" in model) {
      metrics.refused(HELPFULNESS, true);
      log.error({ policy: HELPFULNESS, version: record.version, inForce: leased?.model.version ?? 0 }, model.problem);
      return;
    }
    replace(lease(model));
    const milliseconds = Math.round(performance.now() - began);
    log.info({ policy: HELPFULNESS, version: record.version, milliseconds }, "in force");
  };

  const work = async (): Promise<void> => {
    while (waiting !== undefined && !closing.signal.aborted) {
      const record = waiting;
      waiting = undefined;
      if (record === null) replace(null);
      else await take(record);
    }
  };
  const wake = (): void => {
    if (isWorking) return;
    isWorking = true;
    working = work().finally(() => {
      isWorking = false;
    });
  };

  return {
    /** Takes a record of this policy; older versions than the newest seen are ignored. */
    apply(record: Policy): void {
      if (record.version <= newest) return;
      newest = record.version;
      waiting = record;
      wake();
    },
    /** A tombstone: no helpfulness model. */
    remove(): void {
      newest = 0;
      waiting = null;
      wake();
    },
    /** The model in force; it stays usable for the holder of a lease, for as long as its grace. */
    current: (): HelpfulnessModel | null => leased?.model ?? null,
    /** Resolves when everything applied so far is in force or refused. */
    settled: (): Promise<void> => working,
    async close(): Promise<void> {
      closing.abort();
      await working;
      replace(null);
      await Promise.all(retiring);
    },
  };
}

/** The model of a record, tried; or why it can't be used. */
async function open(
  record: Policy,
  { load, log, loadMs }: Required<Pick<ModelHolderDependencies, "load" | "log" | "loadMs">>,
): Promise<HelpfulnessModel | { problem: string }> {
  const decoded = decodeHelpfulnessPolicy(record, HELPFULNESS_FEATURE_VERSION);
  if ("problem" in decoded) return decoded;
  const loading = load({ bytes: decoded.onnx, version: record.version, log });
  try {
    const tried = loading.then(async (model) => {
      await probe(model);
      return model;
    });
    const model = await withTimeout(loadMs, tried);
    if (model === undefined) throw new Error(`it has not answered within ${loadMs} ms`);
    return model;
  } catch (error) {
    // Whenever it comes: it is no longer wanted.
    void loading.then((model) => model.close()).catch(() => undefined);
    return {
      problem: `helpfulness ${record.version} can't be used: ${messageOf(error)}`,
    };
  }
}

/** Rows of zeros and of ones. Rejects unless both give a number in [0, 1]. */
async function probe(model: HelpfulnessModel): Promise<void> {
  const rows = new Float32Array(2 * HELPFULNESS_FEATURES).fill(1, HELPFULNESS_FEATURES);
  const scores = await model.score(rows);
  if (scores.length !== 2 || !scores.every((value) => value >= 0 && value <= 1))
    throw new Error(`of two rows it says [${scores.join(", ")}], expected two numbers in [0, 1]`);
}

function lease(model: HelpfulnessModel): Leased {
  let calls = 0;
  let onIdle: (() => void) | undefined;
  return {
    model: {
      version: model.version,
      async score(features) {
        calls++;
        try {
          return await model.score(features);
        } finally {
          calls--;
          if (calls === 0) onIdle?.();
        }
      },
      // The holder of a lease can't close it.
      close: () => Promise.resolve(),
    },
    async retire(grace) {
      await grace;
      if (calls > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      await model.close();
    },
  };
}
