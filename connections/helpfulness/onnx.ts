// The helpfulness model (ONNX) in a supervised worker thread. A model that can't be loaded, takes
// other features or answers NaN is refused, at load and at every call.
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { messageOf } from "../errors.ts";
import type { Waits } from "../../algorithms/queueing/backoff.ts";
import { HELPFULNESS_FEATURE_VERSION, HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { disableTelemetry } from "../embedder/telemetry.ts";
import { superviseWorker } from "../worker/supervised.ts";
import { WorkerCallError, type WorkerClient } from "../worker/rpc.ts";
import type { HelpfulnessMethods, HelpfulnessWorkerInput } from "./methods.ts";
import { HelpfulnessError, type HelpfulnessModel } from "./port.ts";

export interface HelpfulnessModelOptions {
  /** The ONNX file. */
  bytes: Uint8Array;
  /** Version of the policy record that contains the model. */
  version: number;
  /** Layout of the features that it was trained on; absent: taken to be ours. */
  featureVersion?: number;
  /** Hexadecimal; absent: not checked. */
  sha256?: string;
  log: Logger;
  worker?: URL;
  /** Pause before a crashed worker is started again; see superviseWorker. */
  pause?: Waits;
}

/** Rows that are tried before a model is taken: extremes and middle. */
const probe = Float32Array.from(
  { length: 3 * HELPFULNESS_FEATURES },
  (_, i) => Math.floor(i / HELPFULNESS_FEATURES) - 1,
);

/** Rejects with HelpfulnessError bad_model when the model is not what it must be. */
export async function loadHelpfulnessModel(options: HelpfulnessModelOptions): Promise<HelpfulnessModel> {
  const { bytes, version, featureVersion = HELPFULNESS_FEATURE_VERSION, sha256, log } = options;
  const problem = (why: string, cause?: unknown): HelpfulnessError =>
    new HelpfulnessError("bad_model", `the helpfulness model ${version}: ${why}`, { cause });
  if (featureVersion !== HELPFULNESS_FEATURE_VERSION)
    throw problem(
      `it was trained on features of version ${featureVersion}, and these are version ${HELPFULNESS_FEATURE_VERSION}: train it again ("precedent helpfulness train")`,
    );
  const found = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== undefined && sha256.toLowerCase() !== found)
    throw problem(`its bytes have sha256 ${found}, expected ${sha256}: it was damaged on its way`);

  const ask = async (
    client: Pick<WorkerClient<HelpfulnessMethods>, "call">,
    features: Float32Array,
  ): Promise<Float32Array> => {
    const values = await client.call("score", { features, width: HELPFULNESS_FEATURES }).catch((error: unknown) => {
      if (error instanceof WorkerCallError && error.code === "bad_model") throw problem(error.message, error);
      const why = messageOf(error);
      throw new HelpfulnessError("unavailable", `the helpfulness model ${version}: ${why}`, { cause: error });
    });
    const bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0) throw problem(`it gives ${values[bad]} for row ${bad} of ${values.length}`);
    return values;
  };
  disableTelemetry();
  const input: HelpfulnessWorkerInput = { model: bytes };
  const worker = await superviseWorker<HelpfulnessMethods>({
    name: `helpfulness ${version}`,
    entry: options.worker ?? new URL("./worker.ts", import.meta.url),
    data: input,
    log,
    ...(options.pause === undefined ? {} : { pause: options.pause }),
    prepare: async (client) => {
      await ask(client, probe);
    },
  });

  return {
    version,
    async score(features) {
      if (features.length % HELPFULNESS_FEATURES !== 0)
        throw problem(`${features.length} numbers are no rows of ${HELPFULNESS_FEATURES} features`);
      if (features.length === 0) return new Float32Array();
      const values = await ask(worker, features);
      return values.map((value) => Math.max(0, Math.min(1, value)));
    },
    close: () => worker.close(),
  };
}
