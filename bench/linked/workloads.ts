// What is asked: nl2bash with similar examples, musique with passages of two sizes, and ever longer
// prompts of long passages. Every item is made from a fixed random sample, so that a longer run
// begins with the shorter one.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { dot } from "../../algorithms/selection/embedding.ts";
import { type Random, splitmix64 } from "../../algorithms/numeric/random.ts";
import type { LlamaModel } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { loadHelpfulnessData, type HelpfulnessData } from "../helpfulness/data.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { type Chat, documentPiece, examplePieces, type Item, itemOf } from "./prompts.ts";
import { dataFolder } from "../support/data-file.ts";

export interface Workload {
  /** In rows and checkpoints: nl2bash-10, musique-200, sweep-4096. */
  name: string;
  maxTokens: number;
  item(index: number): Item;
}

interface Question {
  ctxs: { title: string; text: string }[];
  question: string;
  answers: string[];
}

const seed = 20_261_121;
export const commandSystem = "Translate the request into one shell command. Answer with the command alone.";
const passageSystem = "Answer the question in a few words from these passages.";
/** Development requests with embeddings; no run asks more. */
export const developmentRequests = 60;

export async function loadWorkloads(
  context: Pick<BenchContext, "folder" | "progress">,
  chat: Chat,
  { tokenize, detokenize }: Pick<LlamaModel, "tokenize" | "detokenize">,
): Promise<(name: string) => Workload> {
  const file = join(dataFolder(), "musique-a.jsonl");
  if (!existsSync(file)) throw new Error(`${file} is not there: set PRECEDENT_DATA to the folder that holds musique`);
  // The other benchmarks embed the same requests: what one has made, all have.
  const shared = { folder: join(context.folder, "..", "helpfulness"), progress: context.progress, data: undefined };
  const nl2bash = await loadHelpfulnessData(shared, { train: 0, dev: developmentRequests });
  const questions = shuffled(await readLines<Question>(file), seed);
  const cut = (text: string, from: number, count: number): string =>
    detokenize(tokenize(text).slice(from, from + count)).trim();

  function musique(size: number, passages: number, index: number): Item {
    const { ctxs, question, answers } = questions[index % questions.length]!;
    const random = splitmix64(seed + index);
    // The part of each passage that an answer stands in, where one does: those first, then any.
    const parts = ctxs.map(({ text }, id) => {
      const lower = text.toLowerCase();
      const at = Math.max(...answers.map((answer) => lower.indexOf(answer.toLowerCase())));
      const before = at < 0 ? 0 : tokenize(text.slice(0, at)).length;
      const start = Math.max(0, Math.min(before - (size >> 1), tokenize(text).length - size));
      return { id: String(id), text: cut(text, start, size), answers: at >= 0, key: random() };
    });
    parts.sort((one, other) => Number(other.answers) - Number(one.answers) || one.key - other.key);
    const shown = parts.slice(0, passages).sort((one, other) => one.key - other.key);
    const rest = parts.slice(passages).map(({ id, text }) => documentPiece(id, text));
    return itemOf(
      {
        system: passageSystem,
        kind: "document",
        chunks: shown.map(({ id, text }) => documentPiece(id, text)),
        // Another request brought it, with passages that this prompt does not show.
        earlier: shown.map(({ id, text }) => among(random, documentPiece(id, text), rest.slice(0, passages - 1))),
        question,
        references: answers,
      },
      chat,
    );
  }

  function sweep(length: number, index: number): Item {
    const count = Math.round(length / 500);
    const passages: string[] = [];
    for (const { text } of questions.slice(index * 5).flatMap(({ ctxs }) => ctxs)) {
      if (passages.length === 2 * count) break;
      if (tokenize(text).length >= 400) passages.push(cut(text, 0, 500));
    }
    const shown = passages.slice(0, count).map((text, i) => documentPiece(String(i), text));
    return itemOf(
      {
        system: passageSystem,
        kind: "document",
        chunks: shown,
        earlier: shown.map((piece, i) => ({ chunks: [documentPiece("n", passages[count + i]!), piece], at: 1 })),
        question: questions[index * 5]!.question,
        references: [],
      },
      chat,
    );
  }

  return (name) => {
    const [kind, digits] = name.split("-");
    const size = Number(digits);
    if (kind === "nl2bash") return { name, maxTokens: 48, item: (index) => withExamples(nl2bash, size, index, chat) };
    if (kind === "musique") return { name, maxTokens: 24, item: (index) => musique(size, size > 300 ? 4 : 5, index) };
    if (kind === "sweep") return { name, maxTokens: 16, item: (index) => sweep(size, index) };
    throw new Error(`there is no workload ${name}`);
  };
}

/** The chunk at a random place among others. */
function among(random: Random, chunk: Piece[], others: readonly Piece[][]) {
  const at = Math.floor(random() * (others.length + 1));
  return { chunks: [...others.slice(0, at), chunk, ...others.slice(at)], at };
}

/** The nearest training pairs as chat turns, the most similar last. */
function withExamples({ pool, vectors, dev }: HelpfulnessData, count: number, index: number, chat: Chat): Item {
  const { request, references, candidates } = dev[index % dev.length]!;
  const random = splitmix64(seed + index);
  const piecesOf = (one: number): Piece[] => examplePieces(String(one), pool[one]!);
  const shown = candidates.slice(0, count).reverse();
  return itemOf(
    {
      system: commandSystem,
      kind: "example",
      chunks: shown.map((one) => piecesOf(one.index)),
      earlier: shown.map((one) => seenIn(one.index)),
      question: request,
      references,
    },
    chat,
  );

  /**
   * Where an example was seen first another request was asked: one of the ten training requests
   * nearest to it, with its own nearest examples.
   */
  function seenIn(example: number) {
    const askers = nearestOf(example, 10);
    const asker = askers[Math.floor(random() * askers.length)]!;
    const own = nearestOf(asker, count).reverse();
    // Not always is it among the nearest of its nearest: then it stands for the one that is least
    // so.
    const chunks = own.includes(example) ? own : [example, ...own.slice(1)];
    return { chunks: chunks.map(piecesOf), at: chunks.indexOf(example) };
  }

  /** Training requests, never the one that is measured. */
  function nearestOf(of: number, most: number): number[] {
    const vector = vectors[of]!;
    return vectors
      .map((other, i) => ({ i, similarity: dot(vector, other) }))
      .filter(({ i }) => pool[i]!.request !== pool[of]!.request && pool[i]!.request !== request)
      .sort((one, other) => other.similarity - one.similarity)
      .slice(0, most)
      .map(({ i }) => i);
  }
}
