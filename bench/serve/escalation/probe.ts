// How sure a small model was of its kept answers: the log-probabilities of their tokens, computed
// again from the prompt and the text, and how alike the answer is to those of the nearest examples.
import { modelFile } from "../../../config/models.ts";
import { answerCode } from "../../../algorithms/text/answer-code.ts";
import { bestTokenF1 } from "../../../algorithms/text/token-f1.ts";
import { logProbabilities } from "../../../algorithms/text/teacher-forced.ts";
import { type ChatMessage, createChat } from "../../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../../connections/llama/model.ts";
import { chatMessages } from "../../../arms/messages.ts";
import { templates } from "../../../arms/templates.ts";
import type { Example, Message } from "../../../schemas/types.ts";
import type { BenchContext } from "../../benchmark.ts";
import { mean, significant } from "../../support/statistics.ts";
import { asking, arms } from "../arms.ts";
import { appendRow, keyOf, type LoggedRow, type Probe } from "../log.ts";
import type { Item } from "../stream.ts";

const contextTokens = 8_192;
export const probedArms = ["small-with", "small-without"] as const;

export interface Probing {
  /** As kept on this machine, with texts, by key. */
  logged: ReadonlyMap<string, LoggedRow>;
  items: readonly Item[];
  pool: readonly Example[];
  file: string;
}

/** Appends the rows of the small arms that lack a probe, with it. */
export async function probeAnswers(context: BenchContext, { logged, items, pool, file }: Probing): Promise<void> {
  const { progress, signal } = context;
  const requests = new Map(items.map(({ position, request }) => [position, request]));
  const examples = new Map(pool.map((example) => [example.id, example]));
  const shownTo = (position: number): Example[] | undefined =>
    logged.get(keyOf({ position, arm: "small-with" }))?.examples?.map((id) => examples.get(id)!);
  const wanted = probedArms.flatMap((name) =>
    [...logged.values()].filter(
      ({ arm, probe, position }) => arm === name && probe === undefined && shownTo(position) !== undefined,
    ),
  );
  if (wanted.length === 0) return;
  const path = modelFile(arms.find(({ name }) => name === probedArms[0])!.model);
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  try {
    const chat = createChat(model);
    const llama = await model.openContext({ contextTokens, sequences: 1 });
    const bar = progress(
      "log-probabilities of the small model's answers (kept for later runs)",
      wanted.length,
      "answers",
    );
    for (const [done, row] of wanted.entries()) {
      if (signal.aborted) break;
      const shown = shownTo(row.position)!;
      const { tokens } = chat(messagesOf(requests.get(row.position)!, row, row.arm === "small-with" ? shown : []));
      const answer = model.tokenize(row.text);
      const whole = Int32Array.from([...tokens, ...answer]);
      const logitsAt = Array.from(answer, (_, i) => tokens.length - 1 + i);
      const { logits } = await llama.run({ tokens: whole, logitsAt }, { signal });
      const logs = logProbabilities(logits, answer);
      const probe: Probe = {
        logprob: logs.length === 0 ? null : significant(mean(logs)),
        least: logs.length === 0 ? null : significant(Math.min(...logs)),
        agreement: significant(agreementOf(row, shown)),
      };
      await appendRow(file, { ...row, probe });
      bar.update(done + 1);
    }
    bar.finish();
    await llama.close();
  } finally {
    model.close();
  }
}

/** The prompt as the arm had it. */
const messagesOf = (request: string, { domain }: LoggedRow, examples: readonly Example[]): ChatMessage[] =>
  chatMessages(
    templates["chat-turns"].pieces({
      messages: [
        { role: "system", content: asking[domain].system },
        { role: "user", content: request },
      ] as Message[],
      system: undefined,
      examples,
    }),
  ) as ChatMessage[];

/** Token F1 with the closest example's answer, [0, 1]; 0 where none was found. */
const agreementOf = ({ domain, text }: LoggedRow, shown: readonly Example[]): number =>
  bestTokenF1(
    domain === "nl2bash" ? answerCode(text) : text,
    shown.map(({ response }) => response),
  );
