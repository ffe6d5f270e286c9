// bench -- serve --only judge: does the large model, as a judge of both orders, prefer the answers
// that the metric prefers? The prompt and the reading of verdicts are those of the judge that
// serves; it samples each order once, where that takes eight. Answers with their texts are needed.
import { chatMessages } from "../../arms/messages.ts";
import type { Arm } from "../../arms/arm.ts";
import { modelFile } from "../../config/models.ts";
import { type ChatMessage, createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import { createCompare } from "../../operators/judge/compare.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { arms } from "./arms.ts";
import { effort } from "./figures.ts";
import { type Judged, judgeFigures, type JudgedPair } from "./judge-figures.ts";
import { type Answers, appendRow, keyOf, type LoggedRow, readAnswers, readLogged, saveAnswers } from "./log.ts";
import { type Item, readStream } from "./stream.ts";

const contextTokens = 4_096;
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
  const opened = await openJudge();
  const compare = createCompare({ arm: opened.arm, samples: 1, clock: Date.now });
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
    await opened.close();
  }
}

/** The large model, one call at a time. */
async function openJudge(): Promise<{ arm: Pick<Arm, "answer" | "concurrency">; close(): Promise<void> }> {
  const path = modelFile(arms.find(({ name }) => name === "large-without")!.model);
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  const chat = createChat(model);
  const llama = await model.openContext({ contextTokens, sequences: 1 });
  return {
    arm: {
      concurrency: 1,
      async answer({ pieces, params: { temperature, topP, seed } }, signal) {
        const { tokens } = chat(chatMessages(pieces) as ChatMessage[]);
        const sampling = { temperature: temperature ?? 0, topP: topP ?? 1, seed: seed ?? 0 };
        const { text, generated } = await llama.run({ tokens, maxTokens: longest, ...sampling }, { signal });
        const usage = { ...NO_USAGE, prompt: tokens.length, completion: generated.length };
        const settled = { finishReason: "stop", model: path, cost: 0, attempts: 1, queueMs: 0, firstTokenMs: null };
        return { kind: "answer", text, usage, ...settled };
      },
    },
    async close() {
      await llama.close();
      model.close();
    },
  };
}
