// A model for the tests of onnx.ts: two numbers a text, and texts that crash the worker or give
// NaN. A graph with bytes in its file can't be loaded.
import { existsSync, statSync } from "node:fs";
import { serveCalls, workerInput } from "../worker/rpc.ts";
import type { EmbedMethods, EmbedWorkerInput } from "./methods.ts";

const { graph, threads } = workerInput<EmbedWorkerInput>();

serveCalls<EmbedMethods>({
  embed(texts) {
    if (existsSync(graph) && statSync(graph).size > 0) throw new Error(`${graph} is broken`);
    if (texts.includes("crash")) process.exit(1);
    return Float32Array.from(texts.flatMap((text) => (text === "nan" ? [NaN, 0] : [1, threads])));
  },
});
