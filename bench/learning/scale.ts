// bench -- learning --only scale: what one learn process handles. Rows are generated in the
// embedded ClickHouse, then the code of learn runs over them: first everything, then passes with
// few new rewards while the hour is already full, as on a live system.
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { createAggregate } from "../../operators/aggregate/aggregate.ts";
import { createSolve } from "../../operators/solve/solve.ts";
import { firstGuess, routerPrior } from "../../state/policies/prior.ts";
import { encodeRouterBody } from "../../state/policies/router.ts";
import type { Solved } from "../../operators/learnt.ts";
import type { StackInfo } from "../../stack/attach.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { cpuSeconds } from "../support/processes.ts";
import { serverPids } from "../support/stack.ts";
import { median, significant } from "../support/statistics.ts";

interface Case {
  /** Requests in two hours. */
  requests: number;
  /** One of so many requests is rated. */
  every: number;
  domains: number;
  /** Tenants whose rewards count for themselves alone; 0: all together. */
  tenants: number;
}
const arms = 4;
const halfLifeHours = 168;
const passes = 5;
/** New requests of a pass. */
const fresh = 2_000;
const cases: Readonly<Record<string, Case>> = {
  small: { requests: 20_000, every: 2, domains: 10, tenants: 0 },
  large: { requests: 400_000, every: 2, domains: 10, tenants: 0 },
  tenth: { requests: 400_000, every: 10, domains: 10, tenants: 0 },
  hundredth: { requests: 400_000, every: 100, domains: 10, tenants: 0 },
  many_domains: { requests: 400_000, every: 2, domains: 100_000, tenants: 0 },
  by_tenant: { requests: 400_000, every: 2, domains: 1_000, tenants: 1_000 },
};

export async function scale(context: BenchContext, { clickhouse: connection, folder }: StackInfo): Promise<Measured> {
  const { clickhouse: server = 0 } = await serverPids(folder);
  const figures: Record<string, unknown> = {};
  for (const [name, of] of Object.entries(cases).slice(0, context.quick ? 1 : undefined)) {
    figures[name] = await context.checkpoints.part(name, () => inDatabase(name, of));
  }
  return { figures: { arms, dimension: FEATURE_COUNT, new_requests: fresh, ...figures }, part: "scale" };

  async function inDatabase(name: string, of: Case): Promise<Record<string, number>> {
    const database = `bench_learn_${name}`;
    const making = createClickHouse({ ...connection, requestTimeoutMs: 600_000 });
    await migrate(making, { database, ttlDays: 400 }).finally(() => making.close());
    const clickhouse = createClickHouse({ ...connection, database, requestTimeoutMs: 600_000 });
    try {
      return await measure(context, clickhouse, of, () => process.cpuUsage().user / 1e6 + cpuSeconds(server));
    } finally {
      await clickhouse.command(`DROP DATABASE ${database}`);
      await clickhouse.close();
    }
  }
}

async function measure(
  { progress, signal }: BenchContext,
  clickhouse: ClickHouse,
  of: Case,
  cpu: () => number,
): Promise<Record<string, number>> {
  const { hierarchy } = routerPrior(routingSection.parse({}));
  const byTenant = of.tenants > 0 ? { mostTenants: 200 } : undefined;
  const aggregate = createAggregate({
    ...{ clickhouse, topics: { feedback: "feedback", decisions: "decisions", responses: "responses" } },
    ...{ byTenant, mostDomains: byTenant ? 0 : 16, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT },
  });
  const solveNewest = createSolve({
    ...{ aggregate, halfLifeHours, byTenant },
    solving: { dimension: FEATURE_COUNT, ...firstGuess, ...(hierarchy && { hierarchy }) },
  });
  const pass = async (): Promise<{ more: boolean; solved: Solved }> => {
    const found = await aggregate.advance();
    return { more: found.more, ...(await solveNewest(found)) };
  };
  const title = `${of.requests} requests, one of ${of.every} rated, ${of.domains} domains`;
  const bar = progress(title, passes + 2, "steps");
  await fill(clickhouse, of, 0, of.requests);
  bar.update(1);
  const [begun, cpuBefore] = [performance.now(), cpu()];
  let last = await pass();
  while (last.more) last = await pass();
  const [seconds, cpuAll] = [(performance.now() - begun) / 1_000, cpu() - cpuBefore];
  bar.update(2);
  const times: number[] = [];
  const cpus: number[] = [];
  for (let round = 0; round < passes; round++) {
    signal.throwIfAborted();
    await fill(clickhouse, of, of.requests + fresh * round, fresh);
    const [since, spent] = [performance.now(), cpu()];
    last = await pass();
    times.push(performance.now() - since);
    cpus.push(cpu() - spent);
    bar.update(3 + round);
  }
  bar.finish();
  return {
    ...of,
    rewards_per_s: significant(of.requests / of.every / seconds),
    rewards_per_cpu_s: significant(of.requests / of.every / cpuAll),
    pass_ms: Math.round(median(times)),
    pass_cpu_ms: Math.round(1_000 * median(cpus)),
    policy_kib: Math.round(encodeRouterBody(last.solved).length / 1_024),
  };
}

/** Requests [from, from + count) of two hours. */
async function fill(clickhouse: ClickHouse, { requests, every, domains, tenants }: Case, from: number, count: number) {
  const rows = `SELECT number, toString(number) AS id, cityHash64(number) AS hash,
      concat('t', toString(hash % ${Math.max(1, tenants)})) AS owner, concat(owner, '/d', toString(hash % ${domains})) AS place,
      toDateTime64('2026-11-26 10:00:00', 3, 'UTC') + toIntervalMillisecond(intDiv(number * 7100000, ${requests + fresh * passes})) AS at
    FROM numbers(${from}, ${count})`;
  const context = (arm: number): string =>
    `arrayMap(i -> if(i = 0, 1., (cityHash64(number, ${arm}, i) % 2000) / 1000 - 1), range(${FEATURE_COUNT}))`;
  const tuples = Array.from(
    { length: arms },
    (_, arm) => `('arm-${arm}', 'm', 0.5, ${context(arm)}, 0.5, 0.1, 0.5, 0., 0.25, [], 'best_last')`,
  );
  await clickhouse.command(
    `INSERT INTO decisions (request_id, tenant, domain, arm, probability, feature_version, arms, created_at, topic, kafka_offset)
     SELECT id, owner, place, concat('arm-', toString(number % ${arms})), 0.25, ${FEATURE_VERSION}, [${tuples.join(", ")}], at, 'decisions', number
     FROM (${rows})`,
  );
  await clickhouse.command(
    `INSERT INTO responses (request_id, tenant, domain, arm, model, status, source, created_at, topic, kafka_offset)
     SELECT id, owner, place, concat('arm-', toString(number % ${arms})), 'm', 'ok', 'generated', at, 'responses', number FROM (${rows})`,
  );
  await clickhouse.command(
    `INSERT INTO feedback (feedback_id, request_id, tenant, kind, value, source, created_at, topic, kafka_offset)
     SELECT concat('f', id), id, owner, 'reward', (hash % 11) / 10, 'system', at, 'feedback', number FROM (${rows}) WHERE number % ${every} = 0`,
  );
}
