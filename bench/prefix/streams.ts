// The pools and streams of the prefix benchmark. Topics are drawn by Zipf's law; no question is
// asked twice, since equal ones are the response cache's.
// - nl2bash: pool nl2bash-train; a topic is a question of nl2bash-dev, each time in other words.
// - qqp: pairs of questions have no answers, so that an example is the two questions of a pair; a
//   topic is a cluster of the second questions of other pairs.
import { drawIndex, splitmix64 } from "../../algorithms/numeric/random.ts";
import { dot } from "../../algorithms/selection/embedding.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { loadPairs } from "../reuse/data.ts";
import { neededFile } from "../support/data-file.ts";
import { readLines, shuffled } from "../support/samples.ts";

export interface Pair {
  request: string;
  response: string;
}
export interface Stream {
  name: "nl2bash" | "qqp";
  pool: Pair[];
  /** In the order in which they are asked. */
  questions: string[];
  /** By question: the nearest of the pool, nearest first. */
  nearest: { index: number; similarity: number }[][];
}

const qqp = { pool: 6_000, topics: 200 };
const candidateCount = 32;
const seed = 20_261_126;

/** requests: of each stream. A shorter stream is the beginning of a longer one. */
export const loadStreams = async (context: BenchContext, requests: number): Promise<Stream[]> => [
  await nl2bash(context, requests),
  await pairsOfQuestions(context, requests),
];

async function nl2bash(context: BenchContext, requests: number): Promise<Stream> {
  const { train, dev } = await readNl2bash();
  const made = reworded(unique(dev.map(({ request }) => request)), kept);
  return streamOf(context, "nl2bash", train, made, requests);
}

async function readNl2bash(): Promise<{ train: Pair[]; dev: Asked[] }> {
  return {
    train: await readLines<Pair>(neededFile("nl2bash-train.jsonl")),
    dev: await readLines<Asked>(neededFile("nl2bash-dev.jsonl")),
  };
}

interface Asked {
  request: string;
  references: string[];
}

/**
 * The stream of nl2bash with so many development questions at its end, each once and in its own
 * words, with their references.
 */
export async function withReferences(
  context: BenchContext,
  stream: Stream,
  count: number,
): Promise<{ stream: Stream; references: string[][] }> {
  const { train, dev } = await readNl2bash();
  // Any other sample would begin with the stream's most frequent topics.
  const asked = shuffled(dev, seed + 1).slice(0, count);
  const questions = asked.map(({ request }) => request);
  const more = await streamOf(context, "nl2bash", train, questions, count);
  const nearest = more.nearest.map((neighbours, i) =>
    neighbours.filter(({ index }) => train[index]!.request !== questions[i]),
  );
  return {
    stream: {
      ...stream,
      questions: [...stream.questions, ...questions],
      nearest: [...stream.nearest, ...nearest],
    },
    references: asked.map(({ references }) => references),
  };
}

async function pairsOfQuestions(context: BenchContext, requests: number): Promise<Stream> {
  const pairs = shuffled(await loadPairs(undefined), seed);
  const examples = pairs.slice(0, qqp.pool).map(({ kept, asked }) => ({ request: kept, response: asked }));
  const others = unique(pairs.slice(qqp.pool).map(({ asked }) => asked));
  const drawn = clustered(others, await vectorsOf(context, others)).slice(0, kept);
  return streamOf(context, "qqp", examples, drawn, requests);
}

/** Questions whose embeddings are kept: of these, streams are the beginning. */
const kept = 4_000;

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

const openings = ["", "please ", "how do I ", "I want to ", "show me how to ", "what is the command to "];
const places = ["", " in the folder reports", " on the build server", " as the user deploy", " under /srv/data"];

function reworded(topics: readonly string[], requests: number): string[] {
  const random = splitmix64(seed);
  const ranked = shuffled(topics, seed);
  const weights = ranked.map((_, rank) => 1 / (rank + 1));
  const times = new Map<string, number>();
  return Array.from({ length: requests }, () => {
    const topic = ranked[drawIndex(weights, random)]!;
    const time = times.get(topic) ?? 0;
    times.set(topic, time + 1);
    const rest = Math.floor(time / openings.length);
    const round = Math.floor(rest / places.length);
    const place = `${places[rest % places.length]}${round === 0 ? "" : ` for project ${round}`}`;
    return `${openings[time % openings.length]}${topic.replace(/\.$/, "")}${place}`;
  });
}

/** Each text once: of topics around some of them, by Zipf's law while a topic has any left. */
function clustered(texts: readonly string[], vectors: readonly Float32Array[]): string[] {
  const random = splitmix64(seed);
  const centres = shuffled([...texts.keys()], seed).slice(0, qqp.topics);
  const topics: number[][] = centres.map(() => []);
  for (const [text, vector] of vectors.entries()) {
    const similarities = centres.map((centre) => dot(vector, vectors[centre]!));
    topics[similarities.indexOf(Math.max(...similarities))]!.push(text);
  }
  return texts.map(() => {
    const weights = topics.map(({ length }, rank) => (length > 0 ? 1 / (rank + 1) : 0));
    return texts[topics[drawIndex(weights, random)]!.pop()!]!;
  });
}

async function vectorsOf(context: BenchContext, texts: readonly string[]): Promise<Float32Array[]> {
  const { vectors } = await embeddings(texts, context);
  return vectors.map(
    (bytes) => new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)),
  );
}

async function streamOf(
  context: BenchContext,
  name: Stream["name"],
  pool: Pair[],
  questions: string[],
  requests: number,
): Promise<Stream> {
  const ofPool = await vectorsOf(
    context,
    pool.map(({ request }) => request),
  );
  const vectors = (await vectorsOf(context, questions)).slice(0, requests);
  return {
    ...{ name, pool, questions: questions.slice(0, requests) },
    nearest: vectors.map((vector) => nearestOf(vector, ofPool)),
  };
}

function nearestOf(vector: Float32Array, pool: readonly Float32Array[]): Stream["nearest"][number] {
  const nearest: Stream["nearest"][number] = [];
  let least = -Infinity;
  pool.forEach((other, index) => {
    const similarity = dot(vector, other);
    if (similarity <= least) return;
    const at = nearest.findIndex((one) => one.similarity < similarity);
    nearest.splice(at < 0 ? nearest.length : at, 0, { index, similarity });
    if (nearest.length > candidateCount) nearest.pop();
    if (nearest.length === candidateCount) least = nearest.at(-1)!.similarity;
  });
  return nearest;
}
