// A model for the tests of onnx.ts: two numbers a text, and texts that crash the worker or give
// NaN.
import { serveCalls, workerInput } from "../worker/rpc.ts";
import type { EmbedMethods, EmbedWorkerInput } from "./methods.ts";

const { threads } = workerInput<EmbedWorkerInput>();

serveCalls<EmbedMethods>({
  embed(texts) {
    if (texts.includes("crash")) process.exit(1);
    return Float32Array.from(texts.flatMap((text) => (text === "nan" ? [NaN, 0] : [1, threads])));
  },
});
