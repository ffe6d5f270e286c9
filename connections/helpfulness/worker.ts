// The helpfulness model's worker; session.run blocks this thread only. A new version gets a worker
// of its own while the old one serves.
import { InferenceSession, Tensor } from "onnxruntime-node";
import { messageOf } from "../errors.ts";
import { Moved, serveCalls, workerInput } from "../worker/rpc.ts";
import { BadModel, inputName, type HelpfulnessMethods, type HelpfulnessWorkerInput } from "./methods.ts";

const { model } = workerInput<HelpfulnessWorkerInput>();
const loading = load();
// A failure to load rejects the calls; it does not end the process.
loading.catch(() => undefined);

async function load(): Promise<InferenceSession> {
  const session = await InferenceSession.create(model, {
    // Some hundred rows through some hundred small trees: more threads would only wait for each
    // other.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: "sequential",
    executionProviders: ["cpu"],
    enableCpuMemArena: false,
  }).catch((error: unknown) => {
    throw new BadModel(`it can't be loaded: ${messageOf(error)}`);
  });
  const inputs = session.inputNames.join(", ");
  if (inputs !== inputName) throw new BadModel(`its inputs are [${inputs}], expected one, "${inputName}"`);
  return session;
}

async function score({ features, width }: { features: Float32Array; width: number }): Promise<Moved<Float32Array>> {
  const session = await loading;
  const rows = features.length / width;
  const outputs = await session
    .run({ [inputName]: new Tensor("float32", features, [rows, width]) })
    .catch((error: unknown) => {
      const why = messageOf(error);
      throw new BadModel(`it does not take rows of ${width} float32: ${why}`);
    });
  const output = outputs[session.outputNames[0] ?? ""];
  if (!(output?.data instanceof Float32Array) || output.data.length !== rows)
    throw new BadModel(`it gives ${output?.type ?? "nothing"} [${output?.dims.join(", ") ?? ""}] for ${rows} rows`);
  const values = new Float32Array(output.data);
  return new Moved(values, [values.buffer]);
}

serveCalls<HelpfulnessMethods>({ score }, async () => {
  const session = await loading.catch(() => null);
  await session?.release();
});
