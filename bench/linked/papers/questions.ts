// Questions over passages as EPIC and Cache-Craft ask them (musique): the parts of four passages
// that answers stand in, 2,048 tokens together, cut into chunks of a given size.
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import type { LlamaModel } from "../../../connections/llama/port.ts";
import { objectLines, readDataFile } from "../../support/data-file.ts";
import { shuffled } from "../../support/samples.ts";
import { type Chat, documentPiece, type Item, itemOf } from "../prompts.ts";
import type { Workload } from "../workloads.ts";

interface Question {
  passages: string[];
  question: string;
  answers: string[];
}

const seed = 20_261_126;
const partTokens = 512;
const parts = 4;
const system =
  "Answer the question from the passages. Answer within five words, and do not repeat the question or output anything else.";

/** Workload names are chunk sizes: passages-128 to passages-1024. */
export async function loadQuestions(
  data: string | undefined,
  chat: Chat,
  { tokenize, detokenize }: Pick<LlamaModel, "tokenize" | "detokenize">,
): Promise<{ count: number; workload(name: string): Workload }> {
  const { text, file } = await readDataFile(data, "musique-a.jsonl");
  const questions = shuffled(
    objectLines(text, file, "ctxs, question and answers").map(({ value, where }) => questionOf(value, where)),
    seed,
  );
  const part = (whole: Int32Array, from: number, length: number): string =>
    detokenize(whole.slice(from, from + length)).trim();

  function itemAt(size: number, index: number): Item {
    const { passages, question, answers } = questions[index % questions.length]!;
    const random = splitmix64(seed + index);
    const cut = passages.map((passage) => {
      const tokens = tokenize(passage);
      const lower = passage.toLowerCase();
      const at = Math.max(...answers.map((answer) => lower.indexOf(answer.toLowerCase())));
      const before = at < 0 ? 0 : tokenize(passage.slice(0, at)).length;
      const start = Math.max(0, Math.min(before - (partTokens >> 1), tokens.length - partTokens));
      return { text: part(tokens, start, partTokens), answers: at >= 0, key: random() };
    });
    cut.sort((one, other) => Number(other.answers) - Number(one.answers) || one.key - other.key);
    const shown = cut.slice(0, parts).sort((one, other) => one.key - other.key);
    const tokens = tokenize(shown.map((one) => one.text).join("\n\n")).subarray(0, parts * partTokens);
    const chunks = Array.from({ length: Math.ceil(tokens.length / size) }, (_, i) =>
      documentPiece(String(i), part(tokens, i * size, size)),
    );
    // An earlier prompt brought each chunk, behind a passage that this prompt does not show: the
    // same for all of them, so that it is prefilled once.
    const other = documentPiece("earlier", cut[parts]!.text);
    return itemOf(
      {
        ...{ system, kind: "document", chunks, references: answers },
        earlier: chunks.map((chunk) => ({ chunks: [other, chunk], at: 1 })),
        question: `Question: ${question}`,
      },
      chat,
    );
  }

  return {
    count: questions.length,
    workload: (name) => {
      const size = Number(/^passages-(\d+)$/.exec(name)?.[1]);
      if (!(size > 0)) throw new Error(`there is no workload ${name}`);
      return { name, maxTokens: 16, item: (index) => itemAt(size, index) };
    },
  };
}

function questionOf({ ctxs, question, answers }: Record<string, unknown>, where: string): Question {
  const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";
  const passages = (Array.isArray(ctxs) ? ctxs : []).flatMap((one: unknown) => {
    const text = (one as { text?: unknown } | null)?.text;
    return isText(text) ? [text] : [];
  });
  const right = (Array.isArray(answers) ? answers : []).filter(isText);
  if (passages.length <= parts)
    throw new Error(`${where}: ctxs has ${passages.length} texts, not ${parts + 1} or more`);
  if (!isText(question) || right.length === 0) throw new Error(`${where}: needs a question and its answers`);
  return { passages, question, answers: right };
}
