// bench -- page: how long the page's views take at ten million requests in a month, in the embedded
// ClickHouse, as the gateway asks them. Rows are generated, and kept for the next run; the whole
// answer is read.
import { loadavg } from "node:os";
import { join } from "node:path";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { findConversation } from "../../gateway/find-conversation.ts";
import { readExamples, readExample } from "../../gateway/page/data/examples.ts";
import { readNames } from "../../gateway/page/data/names.ts";
import { readOverview } from "../../gateway/page/data/overview.ts";
import { readPolicies } from "../../gateway/page/data/policies.ts";
import { readRequests } from "../../gateway/page/data/requests.ts";
import { readLetters } from "../../gateway/page/data/dead-letters.ts";
import { readPolicyRewards } from "../../gateway/page/data/policy-change.ts";
import { readSessions } from "../../gateway/page/data/sessions.ts";
import { readValues } from "../../gateway/page/data/values.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { cpuSeconds } from "../support/processes.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { median } from "../support/statistics.ts";
import { fill, readFilled } from "./fill.ts";

export const page: Benchmark = { name: "page", about: "the page's views at a month of 10 million requests", run };

const sizes = { quick: 100_000, full: 10_000_000 };
const rounds = { quick: 3, full: 5 };
const [hour, day] = [3_600_000, 86_400_000];
const database = "bench_page";

async function run(context: BenchContext): Promise<Measured> {
  const size = context.quick ? "quick" : "full";
  const all = context.requests ?? sizes[size];
  const folder = join(context.folder, `stack-${all}`);
  const file = join(context.folder, `filled-${all}.json`);
  const known = await readFilled(file, all);
  return onStack(
    context,
    folder,
    async ({ clickhouse }) => {
      const making = createClickHouse({ ...clickhouse, requestTimeoutMs: 600_000 });
      const writing = createClickHouse({ ...clickhouse, database, requestTimeoutMs: 600_000 });
      const reading = createClickHouse({ ...clickhouse, database, readOnly: { seconds: 10, rows: 50_000 } });
      try {
        const { until } = await fill(context, { making, writing, database }, { file, all, known });
        const views: Record<string, number | null> = {};
        const cpu: Record<string, number> = {};
        const { clickhouse: server = process.pid } = await serverPids(folder);
        const reasons: Record<string, string> = {};
        for (const [name, ask] of Object.entries(viewsOf(reading, until)))
          try {
            const { ms, cpu: used } = await timed(ask, rounds[size], () => cpuSeconds(server), context.signal);
            [views[name], cpu[name]] = [ms, used];
            context.note(`${name}: ${ms} ms, CPU ${used} ms`);
          } catch (error) {
            context.signal.throwIfAborted();
            views[name] = null;
            reasons[`views.${name}`] = error instanceof Error ? error.message.slice(0, 200) : String(error);
          }
        return { figures: { requests: all, load_average: loadavg()[0], views, views_cpu: cpu }, reasons };
      } finally {
        await Promise.all([making.close(), writing.close(), reading.close()]);
      }
    },
    { keepData: known !== undefined },
  );
}

const viewsOf = (clickhouse: ClickHouse, until: number): Record<string, () => Promise<unknown>> => {
  const of = (spanMs: number, more: object = {}) => ({ from: until - spanMs, until, ...more });
  const tenant = "tenant-7";
  return {
    overview_hour: () => readOverview(clickhouse, of(hour)),
    overview_day: () => readOverview(clickhouse, of(day)),
    overview_month: () => readOverview(clickhouse, of(30 * day)),
    overview_month_tenant: () => readOverview(clickhouse, of(30 * day, { tenant })),
    requests_day: () => readRequests(clickhouse, of(day)),
    requests_month: () => readRequests(clickhouse, of(30 * day)),
    requests_month_page_50: () => readRequests(clickhouse, of(30 * day, { offset: 10_000 })),
    requests_month_expensive: () => readRequests(clickhouse, of(30 * day, { sort: "cost" })),
    requests_month_slow: () => readRequests(clickhouse, of(30 * day, { sort: "latency", tenant })),
    requests_month_badly_rated: () => readRequests(clickhouse, of(30 * day, { sort: "reward" })),
    requests_month_unanswered: () => readRequests(clickhouse, of(30 * day, { state: "unanswered" })),
    requests_month_user: () => readRequests(clickhouse, of(30 * day, { user: "user-17" })),
    requests_month_words: () => readRequests(clickhouse, of(30 * day, { search: "about order 9999" })),
    requests_open: () => readRequests(clickhouse, of(30 * day, { state: "open" })),
    request: async () => {
      const { rows } = await readRequests(clickhouse, of(day, { limit: 1 }));
      return findConversation(clickhouse, rows[0]!.id, rows[0]!.tenant, { seesShared: true });
    },
    examples: () => readExamples(clickhouse, {}),
    examples_newest: () => readExamples(clickhouse, { sort: "newest" }),
    example_uses: () => readExample(clickhouse, "example-17"),
    sessions_month: () => readSessions(clickhouse, of(30 * day)),
    sessions_month_none: () => readSessions(clickhouse, of(30 * day, { search: "none begins so" })),
    dead_letters: () => readLetters(clickhouse, {}),
    policies: () => readPolicies(clickhouse),
    policy_versions: () => readPolicies(clickhouse, "router"),
    policy_rewards: () => readPolicyRewards(clickhouse),
    comparison: () => readValues(clickhouse),
    names: () => readNames(clickhouse),
  };
};

interface Times {
  ms: number;
  cpu: number;
}

/**
 * Milliseconds on the clock, and of CPU in ClickHouse's process: on a busy machine the second says
 * more. The first reading, which warms the caches of the machine, is not counted.
 */
async function timed(
  ask: () => Promise<unknown>,
  rounds: number,
  cpu: () => number,
  signal: AbortSignal,
): Promise<Times> {
  const times: Times[] = [];
  for (let round = 0; round <= rounds; round++) {
    signal.throwIfAborted();
    const [begun, used] = [performance.now(), cpu()];
    await ask();
    if (round > 0) times.push({ ms: performance.now() - begun, cpu: (cpu() - used) * 1_000 });
  }
  return {
    ms: Math.round(median(times.map(({ ms }) => ms))),
    cpu: Math.round(median(times.map((one) => one.cpu))),
  };
}
