// The first of the ranking asked again, as a run off-peak would do it: several samples of the model
// that gave the answer, and the better one stays. Judged against our references, because a model of
// half a billion parameters is no judge.
import pc from "picocolors";
import { v7 as uuid } from "uuid";
import { canonicalText } from "../../../algorithms/text/canonical.ts";
import { startExampleReplay } from "../../../pipelines/replay/start.ts";
import { createReferenceJudge } from "../../../operators/example-replay/judge.ts";
import type { ExampleReplayResult } from "../../../operators/example-replay/example-replay.ts";
import type { Example } from "../../../schemas/types.ts";
import type { SampleData } from "../sample-data.ts";
import type { Scene } from "../scene.ts";
import { cut } from "../screen.ts";

const tried = 6;

export const exampleReplay: Scene = async ({ screen, session, stages, data, signal }) => {
  if (!stages.has("curate")) return;
  screen.line(
    `The first ${tried} that came from one of our arms are asked again; the better answer stays ${pc.dim("(token F1 against our reference)")}:`,
  );
  screen.line();
  const { samples, budgetTokens, budgetCost = Infinity } = session.config.curate.exampleReplay;
  const summary = await startExampleReplay(session, {
    runId: uuid(),
    judge: createReferenceJudge(referencesOf(data)),
    top: tried,
    samples,
    budget: { tokens: budgetTokens, cost: budgetCost },
    signal,
    onReplayed: ({ example, result }) => {
      for (const line of describeExampleReplay(example, result, screen.width)) screen.line(line);
    },
  });
  signal.throwIfAborted();
  if (summary.tried === 0)
    screen.line(pc.dim("  none of them has been used since it was admitted: nothing to replay yet"));
  else
    screen.line(
      pc.dim(`\n  ${summary.tried} tried, ${summary.outcomes.replaced ?? 0} bettered, ${summary.tokens} tokens`),
    );
  screen.line();
};

/** By canonical request, as the judge looks them up. */
function referencesOf({ questions, pairs }: SampleData): ReadonlyMap<string, readonly string[]> {
  const known = new Map<string, readonly string[]>();
  for (const { request, response } of pairs) known.set(canonicalText(request), [response]);
  for (const { request, again, references } of questions)
    for (const wording of [request, again]) known.set(canonicalText(wording), references);
  return known;
}

function describeExampleReplay(example: Example, result: ExampleReplayResult, width: number): string[] {
  const { outcome, oldQuality, newQuality, changes } = result;
  const quality = `${oldQuality.toFixed(2)} → ${newQuality === null ? " -  " : newQuality.toFixed(2)}`;
  const mark = outcome === "replaced" ? pc.green(outcome) : pc.dim(outcome.padEnd(8));
  const better = changes.find(({ value }) => value !== null)?.value?.response;
  const line = `  ${mark}  ${quality}  ${cut(example.request, width - 26)}`;
  if (outcome !== "replaced" || better === undefined) return [line];
  const change = `${cut(example.response, 40)}  ⇒  ${cut(better, width - 72)}`;
  return [line, pc.dim(`${" ".repeat(25)}${change}`)];
}
