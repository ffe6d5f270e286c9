// precedent plan-capacity: goodput and latencies of the arms on paper, from logged service times.
import { resolve } from "node:path";
import { InvalidArgumentError, Option, type Command } from "commander";
import { capacityReport } from "../analysis/capacity/report.ts";
import { Shortfall } from "../analysis/capacity/shortfall.ts";
import { mostArrivals, readArrivals } from "./arrivals-file.ts";
import { capacityJson, describeCapacity } from "./describe-capacity.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf, parseCount, parseDuration } from "./options.ts";
import { servingOf } from "../analysis/off-policy/target.ts";
import { namedTarget, targetHelp } from "./policy-target.ts";
import { parseTime } from "./policy-window.ts";
import { withClickHouse } from "./reading.ts";

interface Options {
  since: number;
  until: number;
  policy?: string;
  arrivals?: string;
  ttft?: number;
  total?: number;
  attainment: number;
  workers?: Map<string, number>;
  current?: Map<string, number>;
  traffic: number;
  pattern: "poisson" | "trace";
  requests: number;
  seed: number;
  json?: boolean;
}

const dayMs = 86_400_000;
const mostRequests = 500_000;

export function addPlanCapacity(program: Command, io: Io): void {
  program
    .command("plan-capacity")
    .description("on paper: goodput and latencies of the arms, with more workers or under another policy")
    .option(
      "--since <time>",
      "calls from then on: 2026-11-22, 2026-11-22T10:00Z, or 90m, 24h, 7d ago; 24h by default",
      parseTime,
      Date.now() - dayMs,
    )
    .option("--until <time>", "calls before then; now by default", parseTime, Date.now() + dayMs)
    .option("-p, --policy <policy>", `which arm answers: ${targetHelp}`)
    .option("--arrivals <file>", "a trace in place of the log's requests: CSV as of Azure or BurstGPT")
    .option("--ttft <time>", "objective: from arrival to the first token, such as 500ms or 2s", parseDuration)
    .option("--total <time>", "objective: from arrival to the end", parseDuration)
    .option("--attainment <share>", "of the requests must meet the objectives", parseAttainment, 0.9)
    .option("-w, --workers <counts>", "workers to ask about: ARM=N,...", parseWorkers)
    .option("--current <counts>", "workers there were: ARM=N,...; counted from the log by default", parseWorkers)
    .option("--traffic <factor>", "so many times as many requests", parseFactor, 1)
    .addOption(
      new Option("--pattern <how>", "how requests come when rates are tried for the goodput")
        .choices(["poisson", "trace"])
        .default("poisson"),
    )
    .option("--requests <count>", `calls to read at most, the newest; ${mostRequests} at most`, parseRequests, 100_000)
    .option("--seed <number>", "of everything that is left to chance", parseCount, 1)
    .option("--json", "one object")
    .action((options: Options, command: Command) => plan(options, command, io));
}

async function plan(options: Options, command: Command, io: Io): Promise<void> {
  const { since, until, ttft = Infinity, total = Infinity } = options;
  if (since >= until)
    throw new UsageError(
      `--since ${new Date(since).toISOString()} is not before --until ${new Date(until).toISOString()}`,
    );
  const { config } = configOf(command, io);
  const { arrivals: file } = options;
  const trace = file === undefined ? undefined : await readArrivals(resolve(io.cwd, file), file);
  if (trace?.more === true) io.note(`${file}: the first ${mostArrivals} requests are taken\n`);
  await withClickHouse(command, io, async (clickhouse) => {
    const outside = { clickhouse, arms: config.arms.map(({ name }) => name), cwd: io.cwd };
    const named = options.policy === undefined ? undefined : await namedTarget(options.policy, outside);
    const places = new Map(config.arms.map(({ name, concurrency }) => [name, concurrency]));
    const report = await capacityReport({
      ...{ clickhouse, window: { since, until }, most: options.requests, target: named?.target },
      serving: servingOf(config.routing),
      trace: trace === undefined ? undefined : { name: file!, arrivals: trace.arrivals },
      ...{ asked: options.workers, workers: options.current ?? new Map(), placesOf: (arm: string) => places.get(arm) },
      ...{ objectives: { firstTokenMs: ttft, totalMs: total }, wanted: options.attainment, traffic: options.traffic },
      ...{ pattern: options.pattern, seed: options.seed, signal: io.signal },
    }).catch((error: unknown) => {
      throw error instanceof Shortfall ? new CommandError(error.message) : error;
    });
    io.out(options.json === true ? `${JSON.stringify(capacityJson(report))}\n` : describeCapacity(report));
  });
}

/** "large=2,small=4"; given twice, they add up. */
function parseWorkers(text: string, previous: ReadonlyMap<string, number> = new Map()): Map<string, number> {
  const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)=(\d{1,4})\s*$/.exec(pair));
  const counts = pairs.map((pair) => Number(pair?.[2] ?? 0));
  if (counts.some((count) => !(count >= 1 && count <= 1_000)))
    throw new InvalidArgumentError("ARM=N,... with N from 1 to 1000.");
  return new Map([...previous, ...pairs.map((pair, i) => [pair![1]!, counts[i]!] as const)]);
}

function parseAttainment(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 1)) throw new InvalidArgumentError("A share such as 0.9.");
  return value;
}

function parseFactor(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 1e6)) throw new InvalidArgumentError("A number above 0.");
  return value;
}

function parseRequests(text: string): number {
  const value = parseCount(text);
  if (value > mostRequests) throw new InvalidArgumentError(`${mostRequests} at most.`);
  return value;
}
