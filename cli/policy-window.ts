// Options of the commands that evaluate policies, and the reading that they share.
import { InvalidArgumentError, Option, type Command } from "commander";
import { estimators, type Estimator } from "../algorithms/off-policy/estimators.ts";
import { intervalKinds, type IntervalKind } from "../algorithms/off-policy/evaluate.ts";
import type { Config } from "../config/schema.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { readLog, type ReadLog } from "../analysis/off-policy/read.ts";
import { leftOutReasons } from "../analysis/off-policy/statements.ts";
import { servingOf, type Target } from "../operators/route/target.ts";
import type { ValueOptions } from "../analysis/off-policy/values.ts";
import { CommandError, type Io } from "./io.ts";
import { domainNamed, numberThat, parseAboveZero, parseCount, parseFromZero, parseNames } from "./options.ts";

export interface WindowOptions {
  since: number;
  until: number;
  domain?: string;
  estimators: Estimator[];
  cap: number;
  costWeight: number;
  interval: IntervalKind;
  confidence: number;
  decisions: number;
  correctFeedback?: boolean;
  json?: boolean;
}

const dayMs = 86_400_000;

export function addWindowOptions(command: Command): Command {
  return command
    .option(
      "--since <time>",
      "decisions from then on: 2026-11-22, 2026-11-22T10:00Z, or 90m, 24h, 7d ago",
      parseTime,
      Date.now() - 14 * dayMs,
    )
    .option("--until <time>", "decisions before then", parseTime, Date.now() + dayMs)
    .option("--domain <name>", "of one domain: tenant/domain, or a domain of the tenant default")
    .option("--estimators <names>", `of ${estimators.join(", ")}, separated by commas`, chosenEstimators)
    .option("--cap <weight>", "weights are clipped at it; switch-dr takes the model alone above it", parseCap, 100)
    .option(
      "--cost-weight <weight>",
      "value the reward less this times the normalised cost of the arm",
      parseFromZero,
      0,
    )
    .addOption(new Option("--interval <kind>", "docs/off-policy.md").choices([...intervalKinds]).default("normal"))
    .option("--confidence <share>", "of the intervals", parseConfidence, 0.95)
    .option(
      "--decisions <count>",
      "decisions in memory at most; of more, a sample by hash is taken",
      parseCount,
      200_000,
    )
    .option("--correct-feedback", "weight rewards by the inverse of their probability, where feedback is missing")
    .option("--json", "one object");
}

/** Given names take the place of the default, all of them. */
const chosenEstimators = parseNames(estimators);

export const valueOptions = (options: WindowOptions): ValueOptions => ({
  estimators: options.estimators ?? estimators,
  cap: options.cap,
  costWeight: options.costWeight,
  interval: { kind: options.interval, confidence: options.confidence, seed: 1 },
});

export async function readWindow(
  options: WindowOptions,
  targets: readonly Target[],
  { clickhouse, config, io }: { clickhouse: ClickHouse; config: Config; io: Io },
): Promise<ReadLog> {
  const { since, until, domain } = options;
  if (since >= until)
    throw new CommandError(
      `--since ${new Date(since).toISOString()} is not before --until ${new Date(until).toISOString()}`,
    );
  const read = await readLog({
    clickhouse,
    window: {
      since,
      until,
      domain: domainNamed(domain),
    },
    targets,
    serving: servingOf(config.routing),
    maxDecisions: options.decisions,
    correctFeedback: options.correctFeedback === true,
    signal: io.signal,
    onProgress: (done, of) => {
      if (of > 20_000) io.note(`\r${done} of ${of} decisions`);
      if (of > 20_000 && done >= of) io.note("\n");
    },
  });
  if (read.log.chosen.length > 0) return read;
  const reasons = [...read.leftOut].map(([reason, count]) => `${count} ${leftOutReasons[reason]}`);
  throw new CommandError(
    `no decision of the window can be used (${reasons.join("; ") || "there is none"}): widen --since and --domain, or give feedback`,
  );
}

/** Milliseconds since the epoch, from a time or an age such as 3h. */
export function parseTime(text: string, _previous?: number, now = Date.now()): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  if (unit !== undefined) return now - Number(count) * { s: 1_000, m: 60_000, h: 3_600_000, d: dayMs }[unit as "s"];
  // A time without a zone would be the reader's; a date alone is UTC already.
  const time = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError("A time such as 2026-11-22, 2026-11-22T10:00Z, 90m, 24h or 7d.");
  return time;
}

const parseCap = (text: string): number => (text === "none" ? Infinity : parseAboveZero(text));

const parseConfidence = numberThat("A number between 0 and 1, such as 0.95.", (value) => value > 0 && value < 1);
