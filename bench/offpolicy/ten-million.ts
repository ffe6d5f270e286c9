// Ten million decisions in the embedded ClickHouse: how long the view takes that evaluates a policy
// on them. They are made in SQL once and kept; what they are worth is known by their formula.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { clickhouseServer, clickhouseUrl, clickhouseUser } from "../../stack/clickhouse.ts";
import type { BenchContext } from "../benchmark.ts";
import { cpuSeconds } from "../support/processes.ts";
import { median } from "../support/statistics.ts";

const total = 10_000_000;
const chunk = 1_000_000;
const database = "bench_offpolicy";

export interface TenMillion {
  /** Seconds of one evaluation: five estimators, intervals, support. */
  seconds: number;
  seconds_low: number;
  seconds_high: number;
  /** CPU that the server took for one evaluation: what does not depend on others at work. */
  cpu_seconds: number;
  /** Largest absolute error of ips, snips and dr against the truth. */
  error: number;
}

/**
 * x uniform on [0, 1]; logged .1 + .8 x for arm a, wanted .9 - .8 x; a earns .8 x, b earns .5 (both
 * surely, so that one decision's reward is its expectation); a reward model that is .1 too high.
 * Value: integral of (.9 - .8 x) .8 x + (.1 + .8 x) .5.
 */
const truth = 0.9 * 0.4 - (0.8 * 0.8) / 3 + 0.1 * 0.5 + 0.8 * 0.25;
const insertChunk = `
INSERT INTO policy_terms (evaluation, policy, request_id, tenant, domain, arm, logged, target, unsupported, utility,
                          feedback_weight, direct, predicted, cap, decided_at, evaluated_at)
SELECT 'ten million', 'target', leftPad(toString(number), 9, '0'), 'default', concat('default/', toString(number % 4)),
       if(first, 'a', 'b'), if(first, .1 + .8 * x, .9 - .8 * x), if(first, .9 - .8 * x, .1 + .8 * x), 0,
       if(first, .8 * x, .5), 1, (.9 - .8 * x) * .8 * x + (.1 + .8 * x) * .5 + .1, if(first, .8 * x, .5) + .1, 100,
       toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalSecond(number % 80000), toDateTime64('2026-01-02 00:00:00', 3, 'UTC')
FROM (
  SELECT number, cityHash64(number) / 18446744073709551616. AS x, cityHash64(number, 'draw') / 18446744073709551616. < .1 + .8 * x AS first
  FROM numbers({from:UInt64}, {rows:UInt64})
)`;

export async function evaluateTenMillion(context: BenchContext, times: number): Promise<TenMillion> {
  const server = await startClickHouse(join(context.folder, "clickhouse"));
  try {
    const { clickhouse } = server;
    await fill(clickhouse, context);
    const seconds: number[] = [];
    const cpu: number[] = [];
    let error = 0;
    for (let n = 0; n < times; n++) {
      context.signal.throwIfAborted();
      const [began, cpuBegan] = [performance.now(), cpuSeconds(server.pid)];
      const [row] = await clickhouse.query<{ decisions: number; ips: number; snips: number; dr: number }>(
        "SELECT * FROM policy_value_evaluations WHERE evaluation = 'ten million'",
      );
      seconds.push((performance.now() - began) / 1_000);
      cpu.push(cpuSeconds(server.pid) - cpuBegan);
      if (row?.decisions !== total) throw new Error(`the view is about ${row?.decisions ?? 0} decisions, not ${total}`);
      error = Math.max(...[row.ips, row.snips, row.dr].map((value) => Math.abs(value - truth)));
    }
    const [low, high] = [Math.min(...seconds), Math.max(...seconds)];
    return { seconds: median(seconds), seconds_low: low, seconds_high: high, cpu_seconds: median(cpu), error };
  } finally {
    await server.stop();
  }
}

async function fill(clickhouse: ClickHouse, { progress, signal }: BenchContext): Promise<void> {
  const [row] = await clickhouse.query<{ n: number }>("SELECT count() AS n FROM policy_terms");
  if (row?.n === total) return;
  await clickhouse.command("TRUNCATE TABLE policy_terms");
  const shown = progress("ten million decisions", total, "rows");
  for (let from = 0; from < total; from += chunk) {
    signal.throwIfAborted();
    await clickhouse.command(insertChunk, { from, rows: chunk });
    shown.update(from + chunk);
  }
  shown.finish();
}

/** The embedded ClickHouse alone, in a folder that is kept. */
async function startClickHouse(
  folder: string,
): Promise<{ clickhouse: ClickHouse; pid: number; stop(): Promise<void> }> {
  const token = "bench";
  const port = await getPort();
  const server = clickhouseServer({ folder, token, port: () => Promise.resolve(port) });
  const { command, args, cwd, env } = await server.prepare();
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    const until = Date.now() + 60_000;
    while (
      !(await server.probe().then(
        () => true,
        () => false,
      ))
    ) {
      if (child.exitCode !== null || Date.now() > until) throw new Error("the embedded ClickHouse does not start");
      await sleep(100);
    }
    const login = { url: clickhouseUrl(port), username: clickhouseUser, password: token, requestTimeoutMs: 300_000 };
    const admin = createClickHouse(login);
    await migrate(admin, { database, ttlDays: 0 });
    await admin.close();
    const clickhouse = createClickHouse({ ...login, database });
    return {
      clickhouse,
      pid: child.pid!,
      async stop() {
        await clickhouse.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
