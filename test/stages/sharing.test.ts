// Examples follow the partitions on which their domain is requested. Three plan processes in shared
// mode hold their own partitions' examples; requests are keyed by domain, one process is killed, a
// domain moves to another partition. The decisions in ClickHouse are checked: a decision without
// the mark of incomplete examples searched the whole domain, and once a domain is placed on a
// partition no decision has the mark. Prints how long that takes after the domain's first request.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import kafkajs from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { importPairs } from "../../cli/examples.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { plan } from "../../pipelines/plan/pipeline.ts";
import { groupName } from "../../runtime/running-stage.ts";
import { createLog } from "../../runtime/log.ts";
import { eventually, requestOf, startSystem, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const partitions = 6;
const graceMs = 1_000;
const instances = ["plan-a", "plan-b", "plan-c"];
const domains = Array.from({ length: 8 }, (_, i) => `team-${i}`);
// Far apart for the embedder: the example that a question is about is always among the three
// nearest.
const subjects =
  "compress a folder|show the free disk space|count the lines of a file|rename pictures|list open ports|print a calendar".split(
    "|",
  );
const questionOf = (domain: string, i: number): string => `How do we ${subjects[i % subjects.length]} in ${domain}?`;
const answerOf = (domain: string, i: number): string => `as ${domain} does, number ${i % subjects.length}`;
const pairsOf = (names: readonly string[]): string =>
  names
    .flatMap((domain) =>
      subjects.map((_, i) => JSON.stringify({ domain, request: questionOf(domain, i), response: answerOf(domain, i) })),
    )
    .join("\n");

let folder: string;
let session: Session;
let stages: RunningStages;
let workers: Workers;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-sharing-"));
  const file = join(folder, "pairs.jsonl");
  await writeFile(file, pairsOf(domains));
  const config = testConfig(
    {
      kafka: { partitions },
      selection: { pool: "shared", graceMs, explore: { trials: 0, thresholds: 0, orders: 0 } },
      curate: { everyMs: 300, evict: { everyMs: 1_000 } },
      record: { batchMs: 200 },
      arms: [{ name: "only", type: "recorded", file, cost: 0.1 }],
    },
    folder,
  );
  session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "sharing" });
  await importExamples(session, file);
  stages = await startStages(session, { stages: ["generate", "record", "curate"] });
  workers = createWorkers({ ...config, log: { level: "info" } }, folder);
  await Promise.all(instances.map((instance) => workers.start("plan", instance)));
});
afterAll(async () => {
  await workers.stop();
  await stages.stop();
  await session.clickhouse.command(`DROP DATABASE IF EXISTS ${session.config.clickhouse.database}`);
  await session.close();
  if (process.env.PRECEDENT_KEEP === undefined) await rm(folder, { recursive: true, force: true });
});

async function importExamples(of: Session, file: string): Promise<void> {
  const embedder = await openEmbedder(of.config, { log: of.log });
  await importPairs({ session: of, embedder, file, options: { tenant: "default" } });
  await embedder.close();
}

interface Decided {
  id: string;
  domain: string;
  partition: number;
  at: number;
  incomplete: boolean;
  degraded: string[];
  shown: string[];
}
const decisions = (): Promise<Decided[]> =>
  session.clickhouse.query<Decided>(
    `SELECT request_id AS id, domain, requests_partition AS partition, toUnixTimestamp64Milli(created_at) AS at,
            has(degraded, 'examples_incomplete') AS incomplete, degraded, arms[1].examples.id AS shown
     FROM decisions FINAL ORDER BY at`,
  );

/**
 * Resolves when each plan process owns as many partitions as the others and has dropped what it
 * held before they joined. Until then the first one holds every domain.
 */
async function sharedEvenly(): Promise<void> {
  const { brokers = [], prefix } = session.config.kafka;
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  const even = instances.map(() => partitions / instances.length);
  await eventually("even assignment of requests", async () => {
    const { groups } = await admin.describeGroups([groupName(prefix, plan.name)]);
    const members = groups[0]?.state === "Stable" ? groups[0].members : [];
    const counts = members.map(({ memberAssignment }) =>
      Object.values(kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {}).flat(),
    );
    return JSON.stringify(counts.map(({ length }) => length)) === JSON.stringify(even) ? true : undefined;
  });
  await admin.disconnect();
  await sleep(2 * graceMs);
}

interface Restored {
  instance: string;
  time: number;
  partition: number;
  from: number;
  ms: number;
}
/** What the plan processes say of partitions that they have restored. */
async function restorations(): Promise<Restored[]> {
  const logs = await Promise.all(
    instances.map(async (instance) => ({ instance, text: await readFile(join(folder, `${instance}.log`), "utf8") })),
  );
  return logs.flatMap(({ instance, text }) =>
    text
      .split("\n")
      .filter((line) => line.includes('"examples restored"'))
      .map((line) => {
        const { time, ...rest } = JSON.parse(line) as Omit<Restored, "instance" | "time"> & { time: string };
        return { ...rest, instance, time: Date.parse(time) };
      }),
  );
}

test(
  "every request is selected against its whole domain, also after a kill, and what is not whole yet says so",
  { timeout: 300_000 },
  async () => {
    await sharedEvenly();
    const { kafka, codec, topic } = session;
    const producer = kafka.plainProducer();
    const issued = new Map<string, { domain: string; key: string; i: number; at: number }>();
    /** Keys decide the partition: a domain's own name, at first. */
    const keys = new Map(domains.map((domain) => [domain, domain]));
    const inTheMiddle = new AbortController();
    const asking = (async () => {
      for (let i = 0; !inTheMiddle.signal.aborted; i++) {
        const domain = domains[i % domains.length] ?? "";
        const key = keys.get(domain) ?? domain;
        const request = requestOf(questionOf(domain, i), { domain, id: `r${i}` });
        issued.set(request.id, { domain, key, i, at: Date.now() });
        await producer.send([{ topic: topic("requests"), key, value: codec.encode("requests", request) }]);
        await sleep(30);
      }
    })();
    const placed = (domain: string, key: string): Promise<true> =>
      eventually(`${domain} placed on the partition of ${key}`, async () => {
        const [newest] = await session.clickhouse.query<{ body: string }>(
          "SELECT body FROM policies FINAL WHERE name = 'placement' ORDER BY version DESC LIMIT 1",
        );
        const { domains: places } = JSON.parse(newest?.body ?? '{"domains":{}}') as {
          domains: Record<string, Record<string, number | null>>;
        };
        const offset = places[sharingDomain("default", domain)]?.[kafka.partitionOf(key, partitions)] ?? null;
        return offset === null ? undefined : true;
      });

    await Promise.all(domains.map((domain) => placed(domain, domain)));
    await sleep(2_000); // past the grace of what was held while they joined
    const settledAt = Date.now();

    const victim = "plan-b";
    const killedAt = Date.now();
    await workers.kill(victim);
    // The others notice after the session's 6 s.
    await eventually("what the killed process held is taken over", async () => {
      const restored = await restorations();
      return restored.some(({ time, instance }) => time >= killedAt && instance !== victim) ? true : undefined;
    });
    const backAt = Date.now();
    await workers.start("plan", victim);

    // A domain moves: the same examples are needed on another partition.
    const [moving = ""] = domains;
    const home = kafka.partitionOf(moving, partitions);
    const elsewhere = Array.from({ length: 100 }, (_, i) => `elsewhere-${i}`).find(
      (key) => kafka.partitionOf(key, partitions) !== home,
    );
    if (elsewhere === undefined) throw new Error("all keys lead to one partition");
    keys.set(moving, elsewhere);
    await placed(moving, elsewhere);
    await sleep(2_000);
    const movedAt = Date.now();
    await sleep(1_000);
    inTheMiddle.abort();
    await asking;
    await producer.close();

    const found = await eventually("all decisions", async () => {
      const all = await decisions();
      return all.length >= issued.size ? all : undefined;
    });
    expect(found.map(({ id }) => id).sort()).toEqual([...issued.keys()].sort());

    const misses: string[] = [];
    const pairs = new Map<string, { first: number; whole: number; incomplete: number }>();
    for (const { id, domain, partition, at, incomplete, degraded, shown } of found) {
      const ask = issued.get(id);
      if (ask === undefined) throw new Error(`${id} was never asked`);
      const expected = exampleId(domain, questionOf(ask.domain, ask.i), answerOf(ask.domain, ask.i));
      if (!incomplete && !shown.includes(expected))
        misses.push(
          `${id} of ${domain} on ${partition}, ${shown.length} shown, degraded by ${degraded.join()}, ${at - killedAt} ms after the kill`,
        );
      const pair = pairs.get(`${domain} on ${partition}`) ?? { first: at, whole: at, incomplete: 0 };
      // From the first decision to the last incomplete one: decisions of a process that held
      // everything while the others joined do not count.
      if (incomplete) Object.assign(pair, { incomplete: pair.incomplete + 1, whole: at });
      pairs.set(`${domain} on ${partition}`, pair);
    }
    const isMoved = (ask: { key: string } | undefined): boolean => ask?.key === elsewhere;
    const relapses = found.filter(({ id, incomplete }) => {
      const ask = issued.get(id);
      return incomplete && (ask?.at ?? 0) > (isMoved(ask) ? movedAt : settledAt);
    });
    const untilWhole = [...pairs.values()].map(({ first, whole }) => whole - first).sort((a, b) => a - b);
    const restored = await restorations();
    const takenOver = restored.filter(({ time }) => time >= killedAt && time < backAt);
    const afterKill = found.filter(({ id }) => (issued.get(id)?.at ?? 0) > killedAt);
    const waited = afterKill.map(({ id, at }) => at - (issued.get(id)?.at ?? 0));
    console.log(
      JSON.stringify({
        requests: found.length,
        incomplete: found.filter(({ incomplete }) => incomplete).length,
        pairs: pairs.size,
        untilWholeMs: { median: untilWhole[Math.floor(untilWhole.length / 2)], most: untilWhole.at(-1) },
        movedUntilWholeMs: (({ first, whole }) => whole - first)(
          pairs.get(`${sharingDomain("default", moving)} on ${kafka.partitionOf(elsewhere, partitions)}`)!,
        ),
        restoreMs: {
          takenOver: takenOver.map(({ ms }) => ms),
          back: restored.filter(({ time }) => time >= backAt).map(({ ms, from }) => ({ ms, from })),
        },
        longestWaitAfterKillMs: Math.max(...waited),
      }),
    );
    expect(misses).toEqual([]);
    expect(relapses).toEqual([]);
    // Each pair was incomplete at first, because a process only holds domains that were requested
    // of it. So the check is not vacuous.
    expect([...pairs.values()].filter(({ incomplete }) => incomplete === 0)).toEqual([]);
    expect(takenOver.length).toBeGreaterThan(0);
  },
);

test(
  "below shareAbove nothing is placed; above it, while it runs, the placement says where all is whole",
  { timeout: 300_000 },
  async () => {
    const file = join(folder, "more.jsonl");
    const [first = "", ...others] = domains;
    await writeFile(file, pairsOf([first]));
    const system = await startSystem({
      kafka: { partitions: 2 },
      selection: { shareAbove: subjects.length, explore: { trials: 0, thresholds: 0, orders: 0 } },
      curate: { everyMs: 300, evict: { everyMs: 300 } },
      arms: [{ name: "only", type: "recorded", file: join(folder, "pairs.jsonl") }],
    });
    try {
      const { clickhouse } = system.session;
      const placements = () =>
        clickhouse.query<{ body: string }>("SELECT body FROM policies FINAL WHERE name = 'placement' ORDER BY version");
      const shown = async (domain: string, i: number): Promise<{ degraded: string[]; shown: string[] }> => {
        const { requestId } = await system.ask(questionOf(domain, i), { domain });
        return eventually("the decision", async () => {
          const rows = await clickhouse.query<{ degraded: string[]; shown: string[] }>(
            "SELECT degraded, arms[1].examples.id AS shown FROM decisions FINAL WHERE request_id = {id:String}",
            { id: requestId },
          );
          return rows[0];
        });
      };
      await importExamples(system.session, file);
      await eventually("the examples of the first domain", async () => {
        const answer = await shown(first, 1);
        expect(answer.degraded).toEqual([]);
        return answer.shown.length > 0 ? answer : undefined;
      });
      await sleep(1_500); // several passes of curate
      expect(await placements()).toEqual([]);

      await writeFile(file, pairsOf(others));
      await importExamples(system.session, file);
      const body = await eventually("a placement in which the first domain is whole", async () => {
        const text = (await placements()).at(-1)?.body ?? "{}";
        const placed = JSON.parse(text) as { mode?: string; domains?: Record<string, Record<string, number | null>> };
        const offsets = Object.values(placed.domains?.[sharingDomain("default", first)] ?? {});
        return placed.mode === "shared" && offsets.some((offset) => offset !== null) ? placed : undefined;
      });
      expect(body).toMatchObject({ mode: "shared", count: domains.length * subjects.length });
      // The only process has all partitions: it is still complete everywhere, also for a domain
      // without requests yet.
      const last = others.at(-1) ?? "";
      expect(await shown(last, 2)).toEqual({
        degraded: [],
        shown: expect.arrayContaining([
          exampleId(sharingDomain("default", last), questionOf(last, 2), answerOf(last, 2)),
        ]) as string[],
      });
    } finally {
      await system.stop();
    }
  },
);
