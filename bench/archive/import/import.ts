// bench -- archive/import: where the time of `precedent examples import` goes. Real pairs on the
// embedded stack, with the CPU seconds of each part: the embedder's threads, the importing thread,
// the broker and ClickHouse. Then the time of one request's embedding, with one thread and two, and
// in the running system, whose requests come one by one. Needs ../shared/data.
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "../../../pipelines/session.ts";
import { startStages } from "../../../pipelines/up.ts";
import { importPairs } from "../../../cli/examples.ts";
import { embeddingModelFolder } from "../../../config/assets.ts";
import { configSchema } from "../../../config/schema.ts";
import { createOnnxEmbedder } from "../../../connections/embedder/onnx.ts";
import { openEmbedder } from "../../../pipelines/embedder.ts";
import { createLog } from "../../../runtime/log.ts";
import type { BenchContext, Benchmark, Measured } from "../../benchmark.ts";
import { neededFile } from "../../support/data-file.ts";
import { cpuSeconds, cpuSecondsOf } from "../../support/processes.ts";
import { readLines, shuffled, type Pair } from "../../support/samples.ts";
import { onStack, serverPids } from "../../support/stack.ts";
import { quantile, significant } from "../../support/statistics.ts";

export const importExamples: Benchmark = {
  name: "archive/import",
  about: "where the time of an import of examples goes, and the time of one embedding",
  run,
};

const singles = 200;
const log = createLog({ level: "warn" });

async function run(context: BenchContext): Promise<Measured> {
  const all = await readLines<Pair>(context.data ?? neededFile("nl2bash-train.jsonl"));
  const pairs = context.quick ? shuffled(all, 1).slice(0, 1_500) : all;
  const file = join(context.folder, "pairs.jsonl");
  await writeFile(file, pairs.map((pair) => JSON.stringify(pair)).join("\n"));
  const questions = shuffled(await readLines<Pair>(neededFile("nl2bash-dev.jsonl")), 1).slice(0, singles);
  const imported = await importing(context, file, questions);
  const one = [await alone(questions, 1), await alone(questions, 2)];
  return { figures: { pairs: pairs.length, ...imported, one } };
}

async function importing(
  context: BenchContext,
  file: string,
  questions: readonly Pair[],
): Promise<Record<string, unknown>> {
  const stackFolder = join(context.folder, "stack");
  const answers = join(context.folder, "answers.jsonl");
  await writeFile(
    answers,
    questions.map(({ request }) => JSON.stringify({ request, response: "an answer" })).join("\n"),
  );
  const arm = { type: "recorded", dispatch: "queued", file: answers };
  return onStack(context, stackFolder, async () => {
    const config = configSchema.parse({
      stack: { folder: stackFolder },
      gateway: { port: 0 },
      arms: [
        { ...arm, name: "small", cost: 0.1 },
        { ...arm, name: "large", cost: 1 },
      ],
    });
    const session = await openSession(config, { log });
    const others = new Set(threads().keys());
    const workers = Math.max(1, Math.floor(availableParallelism() / config.embedder.threads));
    const embedder = await openEmbedder(config, { workers, log });
    try {
      const servers = await serverPids(stackFolder);
      const now = (): Record<string, number> => ({
        ...threadSums(others),
        ...Object.fromEntries(Object.entries(servers).map(([name, pid]) => [name, cpuSeconds(pid)])),
      });
      context.note("importing");
      const [before, began] = [now(), performance.now()];
      await importPairs({ session, embedder, file, options: { tenant: "default" }, signal: context.signal });
      const [seconds, after] = [(performance.now() - began) / 1_000, now()];
      const cpu = Object.entries(after).map(([part, value]) => [part, significant(value - (before[part] ?? 0))]);
      const { computed, cached } = embedder.figures();
      await embedder.close();
      context.note("asking");
      const running = await inSystem(session, questions, context.signal);
      const cpu_seconds: unknown = Object.fromEntries(cpu);
      return { import_seconds: significant(seconds), cpu_seconds, computed, cached, running };
    } finally {
      await Promise.allSettled([embedder.close(), session.close()]);
    }
  });
}

/** Every question once, the next when the last was answered; the times that decisions record. */
async function inSystem(
  session: Session,
  questions: readonly Pair[],
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const stages = await startStages(session);
  try {
    for (const { request } of questions) {
      const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: request }] });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${stages.baseUrl}/chat/completions`, { method: "POST", headers, body, signal });
      if (!answer.ok) throw new Error(`the gateway says ${answer.status}: ${await answer.text()}`);
      await answer.text();
    }
    for (const end = performance.now() + 60_000; ;) {
      const [row] = await session.clickhouse.query<Record<string, number | string>>(
        `SELECT count() AS asked, round(quantile(0.5)(ms), 2) AS embed_p50_ms, round(quantile(0.99)(ms), 2) AS embed_p99_ms
         FROM (SELECT arrayFirst(timing -> timing.operator = 'embed', timings).ms AS ms FROM decisions FINAL) WHERE ms > 0`,
      );
      if (Number(row?.["asked"]) >= questions.length) return row!;
      signal.throwIfAborted();
      if (performance.now() > end) throw new Error(`only ${row?.["asked"]} of ${questions.length} were embedded`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    await stages.stop();
  }
}

/** CPU seconds of each thread of this process, by its id. */
const threads = (): Map<string, number> =>
  new Map(
    readdirSync("/proc/self/task").map((id) => [id, cpuSecondsOf(readFileSync(`/proc/self/task/${id}/stat`, "utf8"))]),
  );

/** others: the threads that were there before the embedder. */
function threadSums(others: ReadonlySet<string>): Record<string, number> {
  const sums = { importing: 0, embedder: 0, others: 0 };
  for (const [id, seconds] of threads())
    sums[id === String(process.pid) ? "importing" : others.has(id) ? "others" : "embedder"] += seconds;
  return sums;
}

/** One text after the other, as the requests of a client that waits for each answer. */
async function alone(questions: readonly Pair[], count: number): Promise<Record<string, number>> {
  const folder = embeddingModelFolder();
  const embedder = await createOnnxEmbedder({ folder, threads: count, maxBatch: 8, cacheEntries: 0, log });
  const milliseconds: number[] = [];
  const cpu = process.cpuUsage();
  try {
    for (const { request } of questions) {
      const began = performance.now();
      await embedder.embed(request);
      milliseconds.push(performance.now() - began);
    }
  } finally {
    await embedder.close();
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    threads: count,
    p50_ms: significant(quantile(milliseconds, 0.5)),
    p99_ms: significant(quantile(milliseconds, 0.99)),
    cpu_ms: significant((user + system) / 1_000 / questions.length),
  };
}
