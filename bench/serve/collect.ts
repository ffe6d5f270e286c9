// Asks every arm the requests of the stream through the real stages (Kafka, selection, linking),
// one at a time, all arms of a request before the next, and logs each answer with the CPU time of
// all processes. Before that, what a request takes besides its model is measured under load (with
// one request at a time, the idle time of all processes would count as its cost), and for the arm
// with caches those of the examples that will be shown are made by the code of `kv build`.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { configSchema, type ArmConfig } from "../../config/schema.ts";
import { buildCaches } from "../../pipelines/generate/build-caches.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import type { Example } from "../../schemas/types.ts";
import { type Client, openClient } from "../../tools/demo/client.ts";
import { demoTenant } from "../../tools/demo/sample-data.ts";
import type { BenchContext } from "../benchmark.ts";
import { produceExamples } from "../support/examples.ts";
import { commit } from "../support/machine.ts";
import { cpuOf, measureOverhead, spent, type Used } from "../support/overhead.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { significant } from "../support/statistics.ts";
import { type Arm, armConfig, asking, settingsOf } from "./arms.ts";
import { appendRow, type Answers, keyOf, type Row, saveAnswers, type Sitting } from "./log.ts";
import { domains, type Item } from "./stream.ts";

const timeoutMs = 1_800_000;
/** An arm that answers at once. */
const noModel = "none";
const inFlight = 16;

export interface Collecting {
  /** The stream's requests of this sitting. */
  items: readonly Item[];
  /** Those that are asked. */
  arms: readonly Arm[];
  pool: readonly Example[];
  /** What is there already; new rows and this sitting are added. */
  answers: Answers;
  file: string;
  /** No answer is begun later than so many seconds from the first. */
  seconds: number;
}

/** Adds what is missing, as far as the time goes. */
export async function collect(context: BenchContext, given: Collecting): Promise<void> {
  const missing = missingOf(given);
  if (missing.length === 0) return;
  const items = [...new Set(missing.map(({ item }) => item))];
  const recorded = join(context.folder, "no-answers.jsonl");
  await writeFile(recorded, items.map(({ request }) => JSON.stringify({ request, response: "-" })).join("\n"));
  const none = { name: noModel, type: "recorded", dispatch: "queued", file: recorded, concurrency: inFlight };
  const folder = join(context.folder, "stack");
  await onStack(context, folder, async () => {
    const name = `bench_${randomBytes(4).toString("hex")}`;
    const used = cpuOf(await serverPids(folder));
    const withArms = <T>(arms: unknown[], work: (session: Session) => Promise<T>): Promise<T> =>
      withSession(folder, name, arms, work);
    const sitting: Sitting = { commit: commit(), date: new Date().toISOString(), ...(await withArms([none], prepare)) };
    given.answers.sittings.push(sitting);
    await saveAnswers(given.answers);
    await withArms([none, ...given.arms.map(armConfig)], async (session) => {
      await withClient(session, context.signal, (client) => askAll(context, given, missing, client, used));
      await session.clickhouse.command(`DROP DATABASE IF EXISTS ${name}`).catch(() => undefined);
    });

    async function prepare(session: Session): Promise<Pick<Sitting, "overhead" | "build">> {
      await produceExamples(session, given.pool);
      const overhead = await withClient(session, context.signal, async (client) => {
        const measured = await measureOverhead(items, inFlight, (item) => askNoModel(client, item), used);
        await storedIn(session, given.pool.length, items.length);
        return measured;
      });
      const first = given.arms.find(({ caches }) => caches === "built");
      return { overhead, build: first === undefined ? null : await build(context, session, first, used) };
    }
  });
}

interface Wanted {
  item: Item;
  arm: Arm;
}

/** All arms of a request before the next request, another arm first each time. */
export function missingOf({ items, arms, answers }: Pick<Collecting, "items" | "arms" | "answers">): Wanted[] {
  return items.flatMap((item) => {
    const first = item.position % arms.length;
    return [...arms.slice(first), ...arms.slice(0, first)]
      .filter(({ name }) => answers.rows.get(keyOf({ position: item.position, arm: name }))?.hash !== item.hash)
      .map((arm) => ({ item, arm }));
  });
}

async function withSession<T>(
  folder: string,
  name: string,
  arms: unknown[],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const config = configSchema.parse({
    stack: { folder },
    kafka: { prefix: `${name}.`, partitions: 1 },
    clickhouse: { database: name },
    // Every arm is shown the same examples.
    selection: { explore: { trials: 0, thresholds: 0, orders: 0 } },
    // Each request comes to several arms.
    cache: { enabled: false },
    arms: arms as ArmConfig[],
  });
  const session = await openSession(config, { log: createLog({ level: "error" }) });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

async function withClient<T>(session: Session, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
  const stages = await startStages(session, { stages: ["plan", "generate", "record"] });
  const client = await openClient(session, signal);
  try {
    return await work(client);
  } finally {
    await client.close();
    await stages.stop();
  }
}

/** Until ClickHouse has the pool and what was shown of it. */
async function storedIn({ clickhouse }: Session, examples: number, requests: number): Promise<void> {
  for (;;) {
    const [row] = await clickhouse.query<{ examples: string; requests: string }>(
      `SELECT (SELECT count() FROM examples FINAL) AS examples,
         (SELECT uniqExact(request_id) FROM decisions FINAL) AS requests`,
    );
    if (Number(row?.examples) >= examples && Number(row?.requests) >= requests) return;
    await sleep(500);
  }
}

/** Caches of the examples that the requests were shown, each behind its domain's system prompt. */
async function build(
  { progress, signal }: BenchContext,
  session: Session,
  of: Arm,
  used: Used,
): Promise<Sitting["build"]> {
  const before = used();
  const total = { examples: 0, caches: 0, tokens: 0, disk_mib: 0 };
  for (const name of domains) {
    const domain = sharingDomain(demoTenant, name);
    const [shown] = await session.clickhouse.query<{ count: string }>(
      "SELECT uniqExact(example_id) AS count FROM example_uses FINAL WHERE domain = {domain:String}",
      { domain },
    );
    const top = Number(shown?.count);
    if (top === 0) continue;
    const bar = progress(`caches of examples of ${name} (kept for later runs)`, top, "examples");
    const arm = { ...armConfig(of), system: asking[name].system };
    const onProgress = ({ done }: { done: number }): void => bar.update(done);
    const made = await buildCaches(session, arm, { domain, top, signal, onProgress });
    bar.finish();
    total.examples += made.done;
    total.caches += made.caches;
    total.tokens += made.tokens;
    total.disk_mib = Math.round(made.bytes / 1_048_576);
    signal.throwIfAborted();
  }
  return { ...total, cpu_s: significant(used().ours - before.ours) };
}

async function askAll(
  { progress, signal, note }: BenchContext,
  { arms, pool, answers, file, seconds }: Collecting,
  missing: readonly Wanted[],
  client: Client,
  used: Used,
): Promise<void> {
  const responses = new Map(pool.map(({ id, response }) => [id, response]));
  const measuredCommit = commit();
  // What is made at the first request of an arm is none of those measured.
  for (const { name } of arms) await client.ask("print the working directory", { arm: name, timeoutMs, maxTokens: 8 });
  const began = performance.now();
  const bar = progress("answers of every arm (kept for later runs)", missing.length, "answers");
  let before = used();
  for (const [done, { item, arm }] of missing.entries()) {
    if (signal.aborted || performance.now() - began > 1_000 * seconds) break;
    const { domain, position, hash } = item;
    const answered = await client
      .ask(item.request, { arm: arm.name, domain, timeoutMs, ...asking[domain] })
      .catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
    if (answered === undefined) break;
    const { response, decision } = answered;
    const after = used();
    const cpu = spent(after, before);
    before = after;
    const score = decision?.arms.find((one) => one.arm === arm.name);
    if (response.status !== "ok" || score === undefined || decision?.degraded.length !== 0) {
      const why = response.error?.message ?? decision?.degraded.join() ?? "no decision";
      note(`${arm.name}, request ${position}: ${why}`);
      continue;
    }
    const nearest = score.examples.toSorted((a, b) => b.similarity - a.similarity)[0];
    const copied = nearest && responses.get(nearest.id);
    const row: Row = {
      ...{ position, hash, domain, arm: arm.name, settings: settingsOf(arm) },
      ...{ score: item.score(response.text), lenient: item.lenient(response.text) },
      copy: copied === undefined ? null : item.score(copied),
      similarity: nearest?.similarity ?? null,
      cpu,
      firstTokenMs: response.timings.firstToken,
      usage: tokensOf(response.usage),
      finish: response.finishReason,
      context: score.context,
      commit: measuredCommit,
    };
    answers.rows.set(keyOf(row), row);
    await appendRow(file, { ...row, text: response.text, examples: response.exampleIds });
    bar.update(done + 1);
  }
  bar.finish();
}

const tokensOf = ({ prompt, linked, recomputed, prefilled, completion }: Row["usage"]): Row["usage"] => ({
  ...{ prompt, linked, recomputed, prefilled, completion },
});

/** Milliseconds. */
async function askNoModel(client: Client, { request, domain }: Item): Promise<number> {
  const { response } = await client.ask(request, { arm: noModel, domain, timeoutMs, ...asking[domain] });
  if (response.status !== "ok") throw new Error(`no answer without a model: ${response.error?.message ?? ""}`);
  return response.timings.total;
}
