// What a small model answers to a request with given examples: greedy, one line, examples as chat
// turns in the given order, one at a time and with nothing linked, so that an answer depends on its
// prompt alone. Every answer is kept on disk under a hash of the whole prompt, as soon as it is
// there: what was broken off goes on, and no prompt is run twice.
import { createHash } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createLlamaArm } from "../../arms/llama/llama.ts";
import { armSchema } from "../../config/schema.ts";
import { templates } from "../../arms/templates.ts";
import { createLog } from "../../runtime/log.ts";
import type { Piece } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { readAppended } from "../support/samples.ts";
import type { Pair } from "./data.ts";

const system = "Translate the request into one shell command. Answer with the command alone.";
const maxTokens = 48;
const policy = "full";

export interface Prompt {
  request: string;
  /** In the order in which they are shown. */
  examples: readonly Pair[];
}

export interface Answer {
  text: string;
  /** Tokens of the whole prompt, as the model counts them. */
  promptTokens: number;
}

interface SavedAnswer extends Answer {
  key: string;
}

export interface Answers {
  /** Throws when it was not asked. */
  of(prompt: Prompt): Answer;
  has(prompt: Prompt): boolean;
  /** Asks the model what is not kept yet. */
  ask(prompts: readonly Prompt[], title: string): Promise<void>;
}

const keyOf = ({ request, examples }: Prompt): string =>
  createHash("sha256")
    .update(JSON.stringify([system, maxTokens, policy, request, examples.map((one) => [one.request, one.response])]))
    .digest("hex")
    .slice(0, 24);

const piecesOf = ({ request, examples }: Prompt): Piece[] =>
  templates["chat-turns"].pieces({
    messages: [{ role: "user", content: request }],
    system,
    examples: examples.map((pair, i) => ({ id: String(i), ...pair })),
  });

/** model: a named one; the default is SmolLM2. */
export async function openAnswers(
  { folder, progress, signal }: Pick<BenchContext, "folder" | "progress" | "signal">,
  model?: string,
): Promise<Answers> {
  const file = join(folder, model === undefined ? "answers.jsonl" : `answers-${model}.jsonl`);
  const kept = new Map<string, Answer>();
  for (const { key, ...answer } of await readAppended<SavedAnswer>(file)) kept.set(key, answer);

  async function ask(prompts: readonly Prompt[], title: string): Promise<void> {
    const missing = new Map(prompts.map((prompt) => [keyOf(prompt), prompt] as const));
    for (const key of kept.keys()) missing.delete(key);
    if (missing.size === 0) return;
    const config = armSchema.parse({
      name: "small",
      type: "llama",
      model,
      maxTokens,
      stop: ["\n"],
      system,
      concurrency: 1,
      contextTokens: 8_192,
      linked: { policy },
    });
    if (config.type !== "llama") throw new Error("no llama arm");
    const arm = await createLlamaArm(config, { log: createLog({ level: "error" }) });
    const bar = progress(`${title} (kept for later runs)`, missing.size, "answers");
    let done = 0;
    try {
      for (const [key, prompt] of missing) {
        signal.throwIfAborted();
        const result = await arm.answer(
          {
            requestId: key,
            pieces: piecesOf(prompt),
            params: { maxTokens, temperature: 0, topP: null, seed: 1, stop: ["\n"] },
            deadline: Date.now() + 300_000,
          },
          signal,
        );
        if (result.kind === "failure") throw new Error(`${result.code}: ${result.message}`);
        const answer = { text: result.text.trim(), promptTokens: result.usage.prompt };
        kept.set(key, answer);
        await appendFile(file, `${JSON.stringify({ key, ...answer } satisfies SavedAnswer)}\n`);
        bar.update(++done);
      }
      bar.finish();
    } finally {
      await arm.close();
    }
  }

  function of(prompt: Prompt): Answer {
    const answer = kept.get(keyOf(prompt));
    if (answer === undefined) throw new Error(`"${prompt.request}" was not asked with these examples`);
    return answer;
  }
  return { of, has: (prompt) => kept.has(keyOf(prompt)), ask };
}
