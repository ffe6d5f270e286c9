// A system to break: a stack of its own in a temporary folder, stages as processes of their own,
// and an oracle outside that issues requests and knows what must come of them. Shared by
// test/faults/broker-kills.test.ts, `bench -- faults` and `npm run soak`. Runs without vitest.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "../../../pipelines/session.ts";
import type { StageName } from "../../../pipelines/up.ts";
import { createLog } from "../../../runtime/log.ts";
import type { Request } from "../../../schemas/types.ts";
import { attachStack, stopStack } from "../../../stack/attach.ts";
import type { ServerName } from "../../../stack/server.ts";
import { dispatch } from "../../support/dispatch.ts";
import { createOracle, type Oracle } from "../../support/oracle.ts";
import { pidOf, serversReady } from "../../support/servers.ts";
import { testConfig } from "../../support/system.ts";
import { createWorkers, type Workers } from "../../support/workers.ts";
import { startLoad, type Load } from "./load.ts";

export interface Slot {
  stage: StageName;
  instance: string;
  /** Its connections to the broker can be cut. */
  network?: boolean;
}

export interface RigOptions {
  /** Stage processes that run while nothing is done to them. */
  slots: readonly Slot[];
  perSecond: number;
  /** Arms besides the two recorded ones, by which most requests are answered. */
  moreArms?: readonly (Record<string, unknown> & { name: string })[];
  /** What else the i-th request says. */
  more?: (index: number) => Partial<Request>;
  /** Every n-th answer gets feedback; none by default. */
  feedbackEvery?: number;
  /** The rest of the configuration. */
  config?: Record<string, unknown>;
  /** Keep folder and logs behind the end. */
  keep?: boolean;
}

export interface Rig {
  folder: string;
  slots: readonly Slot[];
  sessionTimeoutMs: number;
  /** The oracle's connections: it shares none with what it watches. */
  session: Session;
  oracle: Oracle;
  load: Load;
  workers: Workers;
  /** Resolves when the stage has joined. */
  start(slot: Slot): Promise<void>;
  pidOf(name: ServerName | "supervisor"): Promise<number>;
  /**
   * Resolves when all servers answer; with the pid of a killed server, only when another process
   * has taken its place.
   */
  ready(killed?: { name: ServerName; pid: number }): Promise<void>;
  stop(): Promise<void>;
}

/** Short, so that a process that is frozen is found out in a run of minutes. */
const sessionTimeoutMs = 6_000;
export const recordedArms = ["small", "large"];
/** What the recorded arms answer. */
export const question = "What time is it?";

export async function createRig(options: RigOptions): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-faults-"));
  const closing: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    // Every step is tried: a process left behind would disturb later tests.
    for (const close of closing.reverse()) await close().catch(() => undefined);
    await stopStack(folder);
    if (options.keep !== true) await rm(folder, { recursive: true, force: true });
  };
  try {
    const file = join(folder, "log.jsonl");
    await writeFile(file, JSON.stringify({ request: question, response: "date" }));
    const stack = await attachStack(folder, { start: true });
    // Answers come out of order, so that every fault finds gaps.
    const recorded = recordedArms.map((name, i) => ({
      ...{
        name,
        type: "recorded",
        dispatch,
        file,
        cost: i === 0 ? 0.1 : 1,
        latencyMs: 5,
        latencySpreadMs: 200,
        concurrency: 256,
      },
    }));
    const config = testConfig(
      {
        limits: { drainMs: 5_000 },
        ...options.config,
        kafka: { sessionTimeoutMs },
        arms: [...recorded, ...(options.moreArms ?? [])],
      },
      folder,
      stack,
    );
    const log = createLog({ level: "silent" });
    const session = await openSession(config, { log, clientId: "oracle", start: false });
    closing.push(() => session.close());
    const workers = createWorkers({ ...config, log: { level: "warn" } }, folder);
    closing.push(() => workers.stop());
    const oracle = await createOracle({
      session,
      arms: config.arms.map(({ name }) => name),
      questionOf: () => question,
      prefix: "load",
      more: (i) => ({
        allow: { arms: recordedArms, maxCost: null, deadlineMs: null, costWeight: null },
        ...options.more?.(i),
      }),
    });
    closing.push(() => oracle.stop());
    const start = ({ stage, instance, network }: Slot): Promise<void> =>
      workers.start(stage, instance, { network: network === true });
    await Promise.all(options.slots.map(start));
    const load = startLoad({ session, oracle, perSecond: options.perSecond, feedbackEvery: options.feedbackEvery });
    closing.push(() => load.stop());

    return {
      folder,
      slots: options.slots,
      sessionTimeoutMs,
      session,
      oracle,
      load,
      workers,
      start,
      pidOf: (name) => pidOf(folder, name),
      ready: (killed) => serversReady(folder, killed),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
