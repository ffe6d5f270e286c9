// What the options of precedent log-replay run mean: which rows, under which policies.
import { resolve } from "node:path";
import type { LogReplayPlan } from "../analysis/log-replay/run.ts";
import { priceList } from "../config/prices.ts";
import type { Config } from "../config/schema.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { LogRow } from "../state/log-replay-row.ts";
import { readWindow } from "../analysis/log-replay/window.ts";
import { resolveConnections } from "../stack/resolve.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { namedTarget } from "./policy-target.ts";
import { costsOf, parseColumns, readWholeLog } from "./log-replay-file.ts";

export interface LogOptions {
  from?: number;
  to?: number;
  file?: string;
  columns?: string;
  speed?: number | null;
  policy?: string[];
  liveArms?: string[];
  seed?: bigint;
  run?: string;
  keep?: boolean;
  json?: boolean;
}

export interface Source {
  name: string;
  beginning: number;
  rows(): (live: ClickHouse) => AsyncIterable<readonly LogRow[]>;
}

/** Undefined: a resumed log replay whose log was read already. */
export function sourceOf(options: LogOptions, { arms }: Pick<Config, "arms">, io: Io): Source | undefined {
  const { from, to = Date.now(), file } = options;
  if (file !== undefined) {
    if (from !== undefined || options.to !== undefined)
      throw new UsageError("--file is replayed whole: leave --from and --to out");
    const columns = parseColumns(options.columns);
    const lists = new Map(arms.map((arm) => [arm.name, priceList(arm)]));
    const costOf = costsOf((arm) => lists.get(arm));
    return {
      ...{ name: file, beginning: Date.now() },
      rows: () => () => readWholeLog({ file: resolve(io.cwd, file), columns, costOf, signal: io.signal }),
    };
  }
  if (from === undefined) {
    if (options.run !== undefined) return undefined;
    throw new UsageError("say what is to be replayed: --from TIME [--to TIME], or --file FILE");
  }
  if (from >= to)
    throw new UsageError(`--from ${new Date(from).toISOString()} is not before --to ${new Date(to).toISOString()}`);
  return {
    name: `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`,
    beginning: from,
    rows: () => (live) => readWindow(live, { from, to }),
  };
}

/** It has none to give. */
export async function* unreadable(id: string): AsyncGenerator<never> {
  throw new CommandError(
    `the log of log replay ${id} was not read to its end: give --from and --to, or --file, once more beside --run`,
  );
}

export async function planOf(
  options: LogOptions,
  source: Source | undefined,
  config: Config,
  io: Io,
): Promise<LogReplayPlan> {
  if (source === undefined) throw new UsageError("say what is to be replayed: --from TIME [--to TIME], or --file FILE");
  const connections = await resolveConnections(config, { start: false });
  const clickhouse = createClickHouse(connections.clickhouse);
  try {
    const policies: { policy: string; router: LogReplayPlan["policies"][number]["router"] }[] = [];
    for (const text of options.policy ?? []) {
      const { target, record } = await namedTarget(text, { clickhouse, arms: [], cwd: io.cwd });
      if (target.kind !== "router") throw new UsageError(`--policy ${text}: router@VERSION, or a FILE.json`);
      policies.push({ policy: target.name, router: record });
    }
    return {
      ...{ source: source.name, beginning: source.beginning, policies },
      ...{ speed: options.speed ?? null, seed: options.seed ?? 1n, liveArms: options.liveArms ?? [] },
    };
  } finally {
    await clickhouse.close();
  }
}
