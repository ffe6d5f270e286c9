// nl2bash for the learning benchmark: a fixed random sample of the development requests, the
// training pairs as the pool, and what SmolLM2 answers with the nearest five as examples.
// Embeddings and answers are kept on disk: only the first run has to wait for them.
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { exampleTokens } from "../../algorithms/text/tokens.ts";
import { createLlamaArm } from "../../arms/llama/llama.ts";
import { armSchema } from "../../config/schema.ts";
import { templates } from "../../arms/templates.ts";
import { chooseExamples, type Rated } from "../../operators/select/choose.ts";
import { createLog } from "../../runtime/log.ts";
import type { Example, Piece } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { importedExample } from "../support/examples.ts";
import { dataFolder } from "../support/data-file.ts";

const tenant = "default";
const domain = "shell";

export interface Item {
  request: string;
  references: string[];
  /** What SmolLM2 answers with examples. */
  small: string;
  /** The answer of the nearest example. */
  copy: string;
}

export interface LearningData {
  items: Item[];
  pool: Example[];
}

const system = "Translate the request into one shell command. Answer with the command alone.";
// By similarity alone: this benchmark is about routing.
const limits = { examples: 5, threshold: 0.3, tokenBudget: 1_500, nearDuplicate: Infinity };
const dimension = 384;

/** The first `count` of the sample; throws when the data is not there. */
export async function loadLearningData(context: BenchContext, count: number): Promise<LearningData> {
  const folder = dataFolder();
  const file = context.data ?? join(folder, "nl2bash-dev.jsonl");
  const train = join(folder, "nl2bash-train.jsonl");
  for (const needed of [file, train])
    if (!existsSync(needed))
      throw new Error(`${needed} is not there: set PRECEDENT_DATA to the folder that holds nl2bash`);
  const dev = shuffled(await lines<{ request: string; references: string[] }>(file)).slice(0, count);
  const pairs = await lines<{ request: string; response: string }>(train);

  const embedded = await embeddings([...pairs.map(({ request }) => request)], context);
  const asked = await embeddings(
    dev.map(({ request }) => request),
    context,
  );
  const id = sharingDomain(tenant, domain);
  const of = { tenant, domain: id, embeddingModel: embedded.model, createdAt: 0 };
  const pool = pairs.map((pair, i) => importedExample(pair, embedded.vectors[i] ?? Buffer.alloc(0), of));
  const vectors = pool.map(({ embedding }) => floats(embedding));
  const shown = dev.map(({ request }, i) => {
    const vector = floats(asked.vectors[i] ?? Buffer.alloc(0));
    const candidates = vectors
      .map((other, k) => rated(pool[k]!, similarity(vector, other), other))
      .sort((one, other) => other.similarity - one.similarity)
      .slice(0, 32);
    const { examples } = chooseExamples(candidates, limits);
    return {
      pieces: templates["chat-turns"].pieces({ messages: [{ role: "user", content: request }], system, examples }),
      copy: candidates[0]?.example.response ?? "",
    };
  });
  const answers = await smallAnswers(
    context,
    dev.map(({ request }, i) => ({ request, pieces: shown[i]!.pieces })),
  );
  const items = dev.map(({ request, references }, i): Item => ({
    request,
    references,
    small: answers.get(request) ?? "",
    copy: shown[i]!.copy,
  }));
  return { items, pool };
}

const rated = (example: Example, similarity: number, vector: Float32Array): Rated => ({
  example,
  similarity,
  vector,
  tokens: exampleTokens(example.request, example.response),
  helpfulness: similarity,
  row: 0,
  features: () => [],
  unfit: null,
});

/** Answers of the small model, greedy; each is kept as soon as it is there. */
async function smallAnswers(
  { folder, progress, signal }: BenchContext,
  wanted: { request: string; pieces: Piece[] }[],
): Promise<Map<string, string>> {
  const file = join(folder, "small-answers.jsonl");
  const kept = existsSync(file) ? await lines<{ request: string; answer: string }>(file) : [];
  const answers = new Map(kept.map(({ request, answer }) => [request, answer]));
  const missing = wanted.filter(({ request }) => !answers.has(request));
  if (missing.length === 0) return answers;
  const config = armSchema.parse({
    name: "small",
    type: "llama",
    maxTokens: 64,
    stop: ["\n"],
    system,
    concurrency: 4,
    contextTokens: 8_192,
  });
  if (config.type !== "llama") throw new Error("no llama arm");
  const arm = await createLlamaArm(config, { log: createLog({ level: "error" }) });
  const bar = progress("answers of the small model (kept for later runs)", missing.length, "answers");
  let done = 0;
  const lane = async (): Promise<void> => {
    for (let next = missing.shift(); next !== undefined; next = missing.shift()) {
      signal.throwIfAborted();
      const result = await arm.answer(
        {
          requestId: next.request,
          pieces: next.pieces,
          params: { maxTokens: 64, temperature: 0, topP: null, seed: 1, stop: ["\n"] },
          deadline: Date.now() + 300_000,
        },
        signal,
      );
      if (result.kind === "failure") throw new Error(`${result.code}: ${result.message}`);
      const answer = result.text.trim();
      answers.set(next.request, answer);
      await appendFile(file, `${JSON.stringify({ request: next.request, answer })}\n`);
      bar.update(++done);
    }
  };
  try {
    await Promise.all(Array.from({ length: 4 }, lane));
    bar.finish();
  } finally {
    await arm.close();
  }
  return answers;
}

async function lines<T>(file: string): Promise<T[]> {
  const text = await readFile(file, "utf8");
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as T]));
}

/** Always the same order: a larger sample begins with the smaller one. */
function shuffled<T>(all: readonly T[]): T[] {
  const random = splitmix64(20_261_121);
  return all
    .map((value) => ({ value, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ value }) => value);
}

const floats = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: Math.min(dimension, bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i));

function similarity(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i]! * other[i]!;
  return sum;
}
