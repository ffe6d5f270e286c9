// The real loop as its users run it: `precedent up` with all stages in a process of its own, on the
// embedded stack, with a pool of examples and two recorded arms that answer at once.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { v7 as uuidv7 } from "uuid";
import { openSession, type Session } from "../../pipelines/session.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { BenchContext } from "../benchmark.ts";
import { startChild, type Child } from "./child.ts";
import type { Next } from "./driver.ts";
import type { History } from "./history.ts";
import { produceExamples } from "../support/examples.ts";

export interface RealLoop {
  /** Each with the stages that it runs for a name; the first serves the figures of all of them. */
  processes: readonly { name: string; child: Child }[];
  session: Session;
  /** The next request, one of the few distinct questions in turn. */
  next(): { key: string; value: Buffer };
  /** The next question that was never asked before; undefined: all were. */
  nextDistinct: Next;
  /** Resolves when everything sent so far stands in ClickHouse. */
  recorded(responses: number): Promise<void>;
  stop(): Promise<void>;
}

/** Arguments of `precedent up` by process. */
export type Processes = Readonly<Record<string, readonly string[]>>;

/** Everything in one, as `precedent up` runs it. */
const together: Processes = { stages: [] };

const answerAtOnce = { type: "recorded", latencyMs: 0, concurrency: 256 };

interface RealLoopOptions {
  stackFolder: string;
  prefix: string;
  history: History;
  processes?: Processes;
  /** Who calls the arms. Default queued. */
  dispatch?: "queued" | "inline";
  /** Whether repeats may be answered from the response cache. Default no. */
  cache?: boolean;
}

export async function startRealLoop(
  { folder, profile, signal }: BenchContext,
  { stackFolder, prefix, history, processes = together, dispatch = "queued", cache = false }: RealLoopOptions,
): Promise<RealLoop> {
  const log = join(folder, "answers.jsonl");
  await writeFile(log, history.log);
  const raw = {
    stack: { folder: stackFolder },
    kafka: { prefix: `${prefix}.` },
    clickhouse: { database: prefix },
    gateway: { port: 0 },
    // The few questions come again and again, and the whole way is measured.
    cache: { enabled: cache },
    // Cost decides: route does its whole work, and one arm answers, as in the floor.
    routing: { costWeight: 20, saturation: { weight: 0 } },
    arms: [
      { ...answerAtOnce, dispatch, name: "small", file: log, cost: 0.1 },
      { ...answerAtOnce, dispatch, name: "large", file: log, cost: 1 },
    ],
  };
  const file = join(folder, `${dispatch}.yaml`);
  await writeFile(file, JSON.stringify(raw)); // JSON is YAML
  const session = await openSession(configSchema.parse(raw), { log: createLog({ level: "warn" }), clientId: "driver" });
  const { codec, clickhouse } = session;

  await produceExamples(session, history.examples);

  const started: RealLoop["processes"][number][] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map(({ child }) => child.stop()));
    await session.close();
  };
  try {
    // One after the other: the first process takes an instance id.
    for (const [name, options] of Object.entries(processes)) {
      const child = await startChild({
        arguments: [
          fileURLToPath(new URL("../../tools/bin/precedent", import.meta.url)),
          ...["up", "--config", file],
          ...options,
        ],
        log: join(folder, `${dispatch}-${name}.log`),
        profile: profile ? join(folder, "profiles") : undefined,
        signal,
      });
      started.push({ name, child });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  let asked = 0;
  let distinct = 0;
  const requestOf = (question: string): { key: string; value: Buffer } => {
    const request = plainRequest(question, { id: uuidv7(), createdAt: Date.now() });
    return { key: request.id, value: codec.encode("requests", request) };
  };
  return {
    processes: started,
    session,
    next: () => requestOf(history.questions[asked++ % history.questions.length]!),
    nextDistinct() {
      const question = history.distinct[distinct++];
      return question === undefined ? undefined : requestOf(question);
    },
    async recorded(responses) {
      const end = performance.now() + 60_000;
      for (;;) {
        const [row] = await clickhouse.query<{ rows: number | string }>("SELECT count() AS rows FROM responses");
        if (Number(row?.rows) >= responses) return;
        signal.throwIfAborted();
        if (performance.now() > end) throw new Error(`record has ${row?.rows} of ${responses} responses after 60 s`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    stop,
  };
}
