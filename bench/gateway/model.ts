// The model of the gateway benchmark: what is asked, what it answers, and how OpenAI's API says
// so. Pure, and the same for every system.
import { splitmix64 } from "../../algorithms/numeric/random.ts";

export const modelName = "mock";
/** Until the first token, and so until the whole of an answer that does not stream. */
export const firstTokenMs = 20;

const tokens = Array.from({ length: 40 }, (_, i) => (i === 0 ? "token" : ` token${i}`));
export const answer = tokens.join("");

const usage = { prompt_tokens: 20, completion_tokens: tokens.length, total_tokens: 20 + tokens.length };
const head = { id: "chatcmpl-mock", created: 1_700_000_000, model: modelName };

/** The body of an answer that does not stream. */
export const completion = JSON.stringify({
  ...head,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }],
  usage,
});

const event = (choices: readonly unknown[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more })}\n\n`;
const delta = (content: string): string => event([{ index: 0, delta: { content }, finish_reason: null }]);

/** The events of a stream: what comes with the first token, and all that follows it at once. */
export function streamed(includeUsage: boolean): { first: string; rest: string } {
  const role = event([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]);
  const end = event([{ index: 0, delta: {}, finish_reason: "stop" }]);
  return {
    first: role + delta(tokens[0]!),
    rest: [...tokens.slice(1).map(delta), end, includeUsage ? event([], { usage }) : "", "data: [DONE]\n\n"].join(""),
  };
}

const words = (
  "archive branch cable desert engine forest garden harbour island journal kettle ladder market needle orchard " +
  "paper quarry river saddle tunnel umbrella valley window yard zinc anchor bridge copper drawer event"
).split(" ");

/**
 * The n-th question of a run. No two are equal, and they have little in common: a system that knows
 * answered requests must not have this one answered by another.
 */
export function question(run: string, n: number): string {
  const random = splitmix64(n);
  const drawn = Array.from({ length: 12 }, () => words[Math.floor(random() * words.length)]!);
  return `Say how ${drawn.join(" ")} belong together, in forty words (${run}-${n}).`;
}

/** Reads a stream as it comes: the text so far, and whether its end was seen. */
export function createStreamReader(): { add(piece: string): void; text(): string; done(): boolean } {
  let [pending, text, done] = ["", "", false];
  return {
    add(piece) {
      const lines = (pending + piece).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("data:")) continue;
        const data = line.slice("data:".length).trim();
        if (data === "[DONE]") {
          done = true;
          continue;
        }
        const chunk = JSON.parse(data) as { choices?: { delta?: { content?: string | null } }[]; error?: unknown };
        if (chunk.error !== undefined) throw new Error(`the stream ended in an error: ${data.slice(0, 300)}`);
        text += chunk.choices?.[0]?.delta?.content ?? "";
      }
    },
    text: () => text,
    done: () => done,
  };
}

/** Text of an answer that did not stream. */
export function textOf(body: string): string | undefined {
  const { choices } = JSON.parse(body) as { choices?: { message?: { content?: string | null } }[] };
  return choices?.[0]?.message?.content ?? undefined;
}
