// Asks every arm every request through the real stages (Kafka, selection, linking), one at a time,
// and logs each answer with the CPU time of all processes from the answer before. A client names
// the arm, so that the log has every arm's answer to every request. What a request takes besides
// its model is measured on its own, under load: with one request at a time, the idle time of all
// processes would count as its cost.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import { openSession } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { configSchema } from "../../config/schema.ts";
import { type Client, openClient } from "../../tools/demo/client.ts";
import { createLog } from "../../runtime/log.ts";
import type { Example } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { produceExamples } from "../support/examples.ts";
import { commit } from "../support/machine.ts";
import { cpuOf, measureOverhead, type Overhead, spent, type Used } from "../support/overhead.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { armsConfig, rungs } from "./arms.ts";
import { answerCode } from "../../algorithms/text/answer-code.ts";
import type { Item } from "./data.ts";
import { appendRow, type ArmName, type SavedRow, keyOf } from "./log.ts";

const timeoutMs = 1_800_000;
/** An arm that answers at once. */
const noModel = "none";
const inFlight = 16;

export interface Collecting {
  items: readonly Item[];
  /** Others, that measure what a request takes besides its model. */
  others: readonly Item[];
  pool: readonly Example[];
  /** Requests, from the first, that are asked a second time. */
  warm: number;
  /** Rows that are there, and where new ones go. */
  log: Map<string, SavedRow>;
  file: string;
  /** No answer is begun later than so many seconds from the first. */
  seconds: number;
}

interface Wanted {
  item: number;
  arm: ArmName;
  caches: "cold" | "warm";
}

/** In the order in which they are asked: all arms of a request, another one first each time. */
function wantedOf(items: number, warm: number): Wanted[] {
  const places = Array.from({ length: items }, (_, item) => item);
  const turned = (item: number) => [...rungs.slice(item % rungs.length), ...rungs.slice(0, item % rungs.length)];
  return [
    ...places.flatMap((item) => turned(item).map(({ name }): Wanted => ({ item, arm: name, caches: "cold" }))),
    ...places.slice(0, warm).flatMap((item) =>
      // The first brings the caches back, should another process have the arm by now.
      turned(item).map(({ name }): Wanted => ({ item, arm: name, caches: "warm" })),
    ),
  ];
}

/** Adds to the log what is missing of it, as far as the time goes; what ours takes, under load. */
export async function collect(context: BenchContext, given: Collecting): Promise<Overhead> {
  const missing = wantedOf(given.items.length, given.warm).filter((wanted) => !given.log.has(keyOf(wanted)));
  const answers = join(context.folder, "no-answers.jsonl");
  await writeFile(answers, given.others.map(({ request }) => JSON.stringify({ request, response: "-" })).join("\n"));
  const folder = join(context.folder, "stack");
  return onStack(context, folder, async () => {
    const name = `bench_${randomBytes(4).toString("hex")}`;
    const config = configSchema.parse({
      stack: { folder },
      kafka: { prefix: `${name}.`, partitions: 1 },
      clickhouse: { database: name },
      selection: { explore: { trials: 0, thresholds: 0, orders: 0 } },
      // Each request comes to several arms, and to some of them again.
      cache: { enabled: false },
      arms: [
        ...armsConfig(),
        { name: noModel, type: "recorded", dispatch: "queued", file: answers, concurrency: inFlight },
      ],
    });
    const session = await openSession(config, { log: createLog({ level: "error" }) });
    try {
      await produceExamples(session, given.pool);
      const stages = await startStages(session, { stages: ["plan", "generate", "record"] });
      const client = await openClient(session, context.signal);
      try {
        const used = cpuOf(await serverPids(folder));
        const overhead = await measureOverhead(given.others, inFlight, (item) => askNoModel(client, item), used);
        await askAll(context, given, missing, client, used);
        return overhead;
      } finally {
        await client.close();
        await stages.stop();
      }
    } finally {
      await session.clickhouse.command(`DROP DATABASE IF EXISTS ${name}`).catch(() => undefined);
      await session.close();
    }
  });
}

async function askAll(
  { progress, signal, note }: BenchContext,
  { items, pool, log, file, seconds }: Collecting,
  missing: readonly Wanted[],
  client: Client,
  usedSoFar: Used,
): Promise<void> {
  const responses = new Map(pool.map(({ id, response }) => [id, response]));
  const measuredCommit = commit();
  if (missing.length === 0) return;
  // What is made at the first request of an arm is none of those measured.
  for (const { name } of rungs) await client.ask("print the working directory", { arm: name, timeoutMs });
  const began = performance.now();
  const bar = progress("answers of every arm (kept for later runs)", missing.length, "answers");
  let before = usedSoFar();
  for (const [done, wanted] of missing.entries()) {
    if (signal.aborted || performance.now() - began > 1_000 * seconds) break;
    const { request, references } = items[wanted.item]!;
    const { response, decision } = await client.ask(request, { arm: wanted.arm, timeoutMs });
    const after = usedSoFar();
    const cpu = spent(after, before);
    before = after;
    const score = decision?.arms.find(({ arm }) => arm === wanted.arm);
    if (response.status !== "ok" || score === undefined || decision?.degraded.length !== 0) {
      note(
        `${wanted.arm}, request ${wanted.item}: ${response.error?.message ?? decision?.degraded.join() ?? "no decision"}`,
      );
      continue;
    }
    const nearest = responses.get(score.examples.at(-1)?.id ?? "");
    const row: SavedRow = {
      ...wanted,
      quality: bestTokenF1(answerCode(response.text), references),
      copy: nearest === undefined ? null : bestTokenF1(nearest, references),
      cpu,
      firstTokenMs: response.timings.firstToken,
      usage: response.usage,
      context: score.context,
      text: response.text,
      commit: measuredCommit,
    };
    log.set(keyOf(row), row);
    await appendRow(file, row);
    bar.update(done + 1);
  }
  bar.finish();
}

/** Milliseconds. */
async function askNoModel(client: Client, { request }: Item): Promise<number> {
  const { response } = await client.ask(request, { arm: noModel, timeoutMs });
  if (response.status !== "ok") throw new Error(`no answer without a model: ${response.error?.message ?? ""}`);
  return response.timings.total;
}
