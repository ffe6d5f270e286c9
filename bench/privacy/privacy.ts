// How much personal data the rules find in the labelled sample, how much of what they replace is
// personal data, and the time that the worst texts take. In memory, on one thread.
import { findPersonalData, personalKinds, type PersonalKind } from "../../algorithms/privacy/pii.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { hostileTexts } from "./hostile.ts";
import { makeSample } from "./sample.ts";
import { score, type Scores } from "./score.ts";

export const privacy: Benchmark = {
  name: "privacy",
  about: "recall and precision of personal data on a labelled sample, and the worst texts' time",
  run,
};

const megabyte = 1_000_000;
/** Public addresses are kept by default, so the sample has none to be found. */
const kinds = personalKinds.filter((kind) => kind !== "IP");

async function run({ quick, progress, signal, note }: BenchContext): Promise<Measured> {
  const sample = makeSample(splitmix64(1), 3);
  const heldOut = sample.filter((sentence) => sentence.heldOut);
  const development = sample.filter((sentence) => !sentence.heldOut);
  const scores = score(heldOut, findPersonalData);
  for (const miss of score(development, findPersonalData).mistakes.slice(0, 200)) note(miss);

  const runs = quick ? 1 : 2;
  const texts = hostileTexts(megabyte);
  const bar = progress("hostile texts of 1 MB", texts.length, "texts");
  const times: Record<string, number> = {};
  for (const [done, { name, text }] of texts.entries()) {
    signal.throwIfAborted();
    times[name] = significant(fastest(text, runs), 3);
    bar.update(done + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  bar.finish();

  return {
    figures: {
      sentences: sample.length,
      sentences_held_out: heldOut.length,
      ...named(scores),
      development: named(score(development, findPersonalData)),
      recall_names_with_cue: score(
        heldOut.filter(({ part }) => part.includes("behind a cue")),
        findPersonalData,
      ).recall.NAME,
      negatives_changed: share(heldOut.filter(({ labels }) => labels.length === 0)),
      worst_ms_per_mb: Math.max(...Object.values(times)),
      ms_per_mb: times,
    },
  };
}

const share = (negatives: readonly { text: string }[]): number =>
  significant(negatives.filter(({ text }) => findPersonalData(text).length > 0).length / negatives.length, 3);

const named = ({ recall, precision, recallAll, precisionAll, labels }: Scores): Record<string, unknown> => ({
  labels: only(labels),
  recall: only(recall),
  precision: only(precision),
  recall_all: recallAll,
  precision_all: precisionAll,
});
const only = <T>(of: Record<PersonalKind, T>): Record<string, T> =>
  Object.fromEntries(kinds.map((kind) => [kind, of[kind]]));

/** Milliseconds of CPU for a million characters: the fastest of some runs. */
function fastest(text: string, runs: number): number {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = process.cpuUsage();
    findPersonalData(text);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1_000);
  }
  return (best * megabyte) / text.length;
}
