// bench -- serve --only judge: does the large model, as a judge of both orders, prefer the answers
// that the metric prefers? The prompt and the reading of verdicts are those of the judge that
// serves; it samples each order once, where that takes eight. Answers with their texts are needed.
import { chatMessages } from "../../arms/messages.ts";
import type { Arm } from "../../arms/arm.ts";
import type { ChatMessage } from "../../connections/llama/chat.ts";
import { createCompare } from "../../operators/judge/compare.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { effort } from "./figures.ts";
import { type Judged, judgeFigures, type JudgedPair } from "./judge-figures.ts";
import { type LargeModel, openLarge } from "./large.ts";
import { type Answers, appendRow, keyOf, type LoggedRow, readAnswers, readLogged, saveAnswers } from "./log.ts";
import { type Item, readStream } from "./stream.ts";

/** Reasons of two or three sentences and the verdict. */
const longest = 256;
/** Fewer say nothing. */
const least = 20;

export async function judge(context: BenchContext, file: string): Promise<Measured> {
  const { quick, note } = context;
  if (!quick) await judgeAnswers(context, await readLogged(file), await readStream(), file);
  const answers = await readAnswers(file);
  if (!quick) await saveAnswers(answers);
  const pairs = pairsOf(answers);
  const part = "judge";
  if (pairs.length < least) {
    const reason = `${pairs.length} pairs of answers were judged, and ${least} are the least`;
    return { figures: { judge: null }, reasons: { judge: reason }, part };
  }
  note(`figures from ${pairs.length} judged pairs`);
  return { figures: judgeFigures(pairs, (quick ? effort.quick : effort.full).resamples), part };
}

function pairsOf({ rows }: Answers): JudgedPair[] {
  return [...rows.values()].flatMap(({ position, domain, lenient, judged }) => {
    const other = rows.get(keyOf({ position, arm: "large-without" }));
    if (judged === undefined || other === undefined) return [];
    return [{ domain, metric: Math.sign(lenient - other.lenient), ...judged }];
  });
}

/** Appends the rows of the small arm that were not judged yet, with the judge's comparison. */
async function judgeAnswers(
  { progress, signal }: BenchContext,
  logged: ReadonlyMap<string, LoggedRow>,
  items: readonly Item[],
  file: string,
): Promise<void> {
  const requests = new Map(items.map(({ position, request }) => [position, request]));
  const wanted = [...logged.values()].filter(
    ({ arm, judged, position }) =>
      arm === "small-with" && judged === undefined && logged.has(keyOf({ position, arm: "large-without" })),
  );
  if (wanted.length === 0) return;
  const large = await openLarge();
  const compare = createCompare({ arm: armOf(large), samples: 1, clock: Date.now });
  const bar = progress("answers judged by the large model (kept for later runs)", wanted.length, "pairs");
  try {
    for (const [done, row] of wanted.entries()) {
      if (signal.aborted) break;
      const other = logged.get(keyOf({ position: row.position, arm: "large-without" }))!;
      const before = process.cpuUsage();
      const { score, verdicts, unread } = await compare(
        { requestId: "", question: requests.get(row.position)!, first: row.text, second: other.text },
        signal,
      );
      const { user, system } = process.cpuUsage(before);
      const judged: Judged = { score, verdicts, unread, cpu_s: significant((user + system) / 1e6) };
      await appendRow(file, { ...row, judged });
      bar.update(done + 1);
    }
    bar.finish();
  } finally {
    await large.close();
  }
}

const armOf = (large: LargeModel): Pick<Arm, "answer" | "concurrency"> => ({
  concurrency: 1,
  async answer({ pieces, params: { temperature, topP, seed } }, signal) {
    const sampling = { temperature: temperature ?? 0, topP: topP ?? 1, seed: seed ?? 0 };
    const messages = chatMessages(pieces) as ChatMessage[];
    const { text, prompt, generated } = await large.answer(messages, { maxTokens: longest, ...sampling }, signal);
    const usage = { ...NO_USAGE, prompt, completion: generated.length };
    return { kind: "answer", text, usage, finishReason: "stop", model: "", ...called };
  },
});
const called = { cost: 0, attempts: 1, queueMs: 0, firstTokenMs: null };
