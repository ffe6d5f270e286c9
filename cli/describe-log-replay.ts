// The report of a log replay in words and tables.
import type { LogReplayReport } from "../analysis/log-replay/run.ts";
import { tableOf } from "./reading.ts";

const share = (value: number | null): string => (value === null ? "-" : `${(100 * value).toFixed(1)} %`);
const figure = (value: number | null, digits = 3): string => (value === null ? "-" : value.toFixed(digits));
const ms = (value: number | null): string => (value === null ? "-" : Math.round(value).toString());

export function describeLogReplay({ id, source, window, shiftMs, examples, policies }: LogReplayReport): string {
  const at = (time: number): string => new Date(time).toISOString();
  const lines = [
    `log replay ${id} of ${source}: ${window.requests} requests, ${at(window.from)} to ${at(window.to)}, moved by ${(shiftMs / 86_400_000).toFixed(2)} days\n`,
    tableOf(
      [
        "policy",
        "quality",
        "rewarded",
        "estimate",
        "decisions",
        "cost",
        "as logged",
        "not recorded",
        "refused",
        "requests/s",
      ],
      policies.map(
        ({ policy, quality, rewarded, estimate, totalCost, sameArm, notRecorded, refused, requestsPerS }) => [
          policy,
          figure(quality),
          rewarded,
          estimate.value === null ? "-" : `${figure(estimate.value)} ± ${figure(estimate.reach)}`,
          estimate.decisions,
          totalCost.toPrecision(3),
          share(sameArm),
          notRecorded,
          Object.values(refused).reduce((sum, count) => sum + count, 0),
          figure(requestsPerS, 1),
        ],
      ),
    ),
    tableOf(
      [
        "policy",
        "arm",
        "share",
        "requests",
        "not recorded",
        "failed",
        "quality",
        "cost",
        "p50 ms",
        "p99 ms",
        "first token ms",
        "service p50 ms",
        "p99 ms",
        "fitted",
      ],
      policies.flatMap(({ policy, arms }) =>
        arms.map((one) => [
          ...[policy, one.arm, share(one.share), one.requests, one.notRecorded, one.failed, figure(one.quality)],
          one.meanCost === null ? "-" : one.meanCost.toPrecision(3),
          ...[ms(one.p50Ms), ms(one.p99Ms), ms(one.firstTokenP50Ms)],
          ...[ms(one.service.p50Ms), ms(one.service.p99Ms), one.service.fitted],
        ]),
      ),
    ),
  ];
  for (const { policy, refused, requests, notRecorded } of policies) {
    const codes = Object.entries(refused).map(([code, count]) => `${count} ${code}`);
    if (codes.length > 0) lines.push(`${policy}: refused before an arm was chosen: ${codes.join(", ")}\n`);
    if (notRecorded > requests / 2)
      lines.push(
        `${policy}: the log holds no answer to most of what it chose: its quality rests on few, read the estimate instead\n`,
      );
  }
  if (examples !== null && examples.asOfNow + examples.gone > 0)
    lines.push(
      `examples: ${examples.asOfNow} that changed since are as of now, up to ${examples.gone} that were removed since are missing (${examples.restored} are as they were)\n`,
    );
  return lines.join("");
}
