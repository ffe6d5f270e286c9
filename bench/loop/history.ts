// The data of the loop benchmark: some thousand examples made from the sample pairs, and few
// distinct questions with recorded answers; on request many that are all different, too. Embeddings
// of the examples are computed once and kept.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { embeddingModelFolder } from "../../config/assets.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import { precisionFor } from "../../connections/embedder/precision.ts";
import { createLog } from "../../runtime/log.ts";
import type { Example } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { importedExample } from "../support/examples.ts";

export interface Pair {
  request: string;
  response: string;
}

const exampleCount = 3_000;
const questionCount = 64;

const places = [
  "",
  "in the folder reports",
  "on the build server",
  "for the project harbour",
  "as the user deploy",
  "under /srv/data",
  "in the archive of 2024",
  "before the release",
];

/** The same pairs every time: the sample pairs, each in several places, until there are `count`. */
export function examplePairs(samples: readonly Pair[], count: number): Pair[] {
  return Array.from({ length: count }, (_, i) => {
    const pair = samples[i % samples.length]!;
    const round = Math.floor(i / samples.length);
    const place = places[round % places.length]!;
    const suffix = round < places.length ? place : `${place} (${round})`;
    return suffix === ""
      ? { request: pair.request, response: pair.response }
      : { request: `${pair.request} ${suffix}`, response: `${pair.response} # ${suffix}` };
  });
}

export const readPairs = (file: URL): Pair[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { request, response, responses } = JSON.parse(line) as Pair & { responses?: string[] };
      return { request, response: response ?? responses?.[0] ?? "" };
    });

export interface History {
  examples: Example[];
  /** Asked over and over; every arm's log has an answer. */
  questions: string[];
  /** Each to be asked once. */
  distinct: string[];
  /** Lines of the recorded arms' log. */
  log: string;
}

/** distinct: how many questions of that kind. */
export async function loadHistory(
  context: Pick<BenchContext, "folder" | "progress">,
  { distinct: distinctCount = 0 } = {},
): Promise<History> {
  const pairs = examplePairs(readPairs(new URL("../../deploy/shell-pairs.jsonl", import.meta.url)), exampleCount);
  const recorded = readPairs(new URL("../../deploy/shell-log.jsonl", import.meta.url));
  const log = recorded.slice(0, questionCount);
  // The first round is the recorded questions themselves.
  const distinct = examplePairs(recorded, recorded.length + distinctCount).slice(recorded.length);
  const { model, vectors } = await embeddings(
    pairs.map(({ request }) => request),
    context,
  );
  const domain = sharingDomain("default", null);
  const of = { tenant: "default", domain, embeddingModel: model, createdAt: Date.now() };
  const examples = pairs.map((pair, i) => importedExample(pair, vectors[i]!, of));
  return {
    examples,
    questions: log.map(({ request }) => request),
    distinct: distinct.map(({ request }) => request),
    log: [...log, ...distinct].map((line) => JSON.stringify(line)).join("\n"),
  };
}

/**
 * Vectors as little-endian floats, from the file that an earlier run left when it is of these texts
 * and this model.
 */
export async function embeddings(
  texts: readonly string[],
  { folder, progress }: Pick<BenchContext, "folder" | "progress">,
  precision = precisionFor(embeddingModelFolder()),
): Promise<{ model: string; vectors: Buffer[] }> {
  const model = embeddingModelFolder();
  const digest = createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
  const file = join(folder, `embeddings-${digest}${precision === "int8" ? "-int8" : ""}.f32`);
  const name = model.slice(model.lastIndexOf("/") + 1);
  const kept = await readFile(file).catch(() => undefined);
  const split = (bytes: Buffer): Buffer[] => {
    const size = bytes.length / texts.length;
    return texts.map((_, i) => bytes.subarray(i * size, (i + 1) * size));
  };
  if (kept !== undefined && kept.length > 0 && kept.length % texts.length === 0)
    return { model: name, vectors: split(kept) };
  const embedder = await createOnnxEmbedder({
    folder: model,
    precision,
    threads: 1,
    maxBatch: 16,
    cacheEntries: 0,
    log: createLog({ level: "warn" }),
  });
  const bar = progress("embedding the examples (kept for later runs)", texts.length, "texts");
  try {
    const vectors = (await embedder.embedAll(texts, bar.update)).map((vector) => {
      const bytes = Buffer.alloc(vector.length * 4);
      vector.forEach((value, i) => bytes.writeFloatLE(value, i * 4));
      return bytes;
    });
    bar.finish();
    // The folder belongs to another benchmark, which may never have run.
    await mkdir(folder, { recursive: true });
    await writeFile(file, Buffer.concat(vectors));
    return { model: embedder.model, vectors };
  } finally {
    await embedder.close();
  }
}
