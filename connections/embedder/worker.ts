// The embedding worker; session.run blocks this thread only. Any encoder with input_ids and
// attention_mask that gives [batch, dimension] or [batch, tokens, dimension] (averaged here).
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { toUnitLength } from "../../algorithms/selection/embedding.ts";
import { Moved, serveCalls, workerInput } from "../worker/rpc.ts";
import { groupByLength } from "./groups.ts";
import { maxCharacters, maxTokens, type EmbedMethods, type EmbedWorkerInput } from "./methods.ts";

// By require: the package's type files leave out extensions, so that an import of it would be typed
// as nothing at all.
const { Tokenizer } = createRequire(import.meta.url)("@huggingface/tokenizers") as {
  Tokenizer: new (tokenizer: object, config: object) => SentenceTokenizer;
};
interface SentenceTokenizer {
  /** Special tokens included. */
  encode(text: string): { ids: number[] };
}

const { folder, graph, threads } = workerInput<EmbedWorkerInput>();
const loading = Promise.all([
  InferenceSession.create(graph, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    executionProviders: ["cpu"],
    // Arenas grow to the largest batch ever seen and stay there.
    enableCpuMemArena: false,
    // Threads that wait must not burn the cores that others need.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  }),
  readFile(join(folder, "tokenizer.json"), "utf8").then((json) => new Tokenizer(JSON.parse(json) as object, {})),
]);
// A failure to load rejects the calls; it does not end the process.
loading.catch(() => undefined);

function tokenIds(tokenizer: SentenceTokenizer, text: string): number[] {
  const ids = tokenizer.encode(text.slice(0, maxCharacters)).ids;
  const last = ids.at(-1);
  if (ids.length <= maxTokens || last === undefined) return ids;
  // The closing [SEP] stays.
  return [...ids.slice(0, maxTokens - 1), last];
}

async function embed(texts: readonly string[]): Promise<Moved<Float32Array>> {
  const [session, tokenizer] = await loading;
  const rows = texts.map((text) => tokenIds(tokenizer, text));
  let vectors = new Float32Array(0);
  for (const group of groupByLength(rows.map((row) => row.length))) {
    const some = await embedRows(
      session,
      group.map((i) => rows[i]!),
    );
    const dimension = some.length / group.length;
    if (vectors.length === 0) vectors = new Float32Array(texts.length * dimension);
    group.forEach((i, k) => vectors.set(some.subarray(k * dimension, (k + 1) * dimension), i * dimension));
  }
  return new Moved(vectors, [vectors.buffer]);
}

async function embedRows(session: InferenceSession, rows: number[][]): Promise<Float32Array> {
  const width = Math.max(1, ...rows.map((row) => row.length));
  const shape = [rows.length, width];
  const ids = new BigInt64Array(rows.length * width);
  const mask = new BigInt64Array(rows.length * width);
  rows.forEach((row, r) =>
    row.forEach((id, t) => {
      ids[r * width + t] = BigInt(id);
      mask[r * width + t] = 1n;
    }),
  );
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor("int64", ids, shape),
    attention_mask: new Tensor("int64", mask, shape),
  };
  if (session.inputNames.includes("token_type_ids"))
    feeds["token_type_ids"] = new Tensor("int64", new BigInt64Array(ids.length), shape);

  const outputs = await session.run(feeds);
  const preferred = ["embedding", "sentence_embedding", "last_hidden_state"].find((name) => name in outputs);
  const output = outputs[preferred ?? session.outputNames[0] ?? ""];
  if (output === undefined || !(output.data instanceof Float32Array))
    throw new Error(`the model in ${folder} has no float32 output`);
  const dimension = output.dims.at(-1) ?? 0;
  const vectors =
    output.dims.length === 3 ? meanOverTokens(output.data, rows, width, dimension) : new Float32Array(output.data);
  if (vectors.length !== rows.length * dimension)
    throw new Error(`the model in ${folder} gives [${output.dims.join(", ")}], expected [batch, dimension]`);
  for (let r = 0; r < rows.length; r++) toUnitLength(vectors.subarray(r * dimension, (r + 1) * dimension));
  return vectors;
}

function meanOverTokens(
  hidden: Float32Array,
  rows: number[][],
  width: number,
  dimension: number,
): Float32Array<ArrayBuffer> {
  const means = new Float32Array(rows.length * dimension);
  rows.forEach((row, r) => {
    for (let t = 0; t < row.length; t++)
      for (let i = 0; i < dimension; i++)
        means[r * dimension + i]! += hidden[(r * width + t) * dimension + i]! / row.length;
  });
  return means;
}

serveCalls<EmbedMethods>({ embed }, async () => {
  const loaded = await loading.catch(() => null);
  await loaded?.[0].release();
});
