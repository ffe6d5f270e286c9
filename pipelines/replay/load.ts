// How busy the busiest arm is, for what goes on beside the stages and must not go ahead of
// requests: read as plan reads it, in a process that may run no plan.
import { once } from "node:events";
import { isInline } from "../../config/sections/arms.ts";
import { createLoadMonitor } from "../../state/load/load.ts";
import { followCalls } from "../../state/inline-calls.ts";
import { openEngines } from "../../arms/engines.ts";
import { lazily } from "../../connections/lazily.ts";
import { monitoredArms } from "../plan/monitored-arms.ts";
import type { SessionOf } from "../../state/session.ts";

export type BusiestArm = Awaited<ReturnType<typeof watchBusiestArm>>;

type LoadSession = Pick<
  SessionOf<{ tables: ["inline-calls"] }>,
  "kafka" | "codec" | "topic" | "arms" | "config" | "log"
>;

/** Resolves when it was read once; rejects when the signal is aborted before. */
export async function watchBusiestArm(session: LoadSession, signal: AbortSignal) {
  const { kafka, arms, log } = session;
  const calls = arms.configured().some(isInline) ? followCalls(session, log) : undefined;
  const engines = openEngines(arms.configured, log);
  const read = new EventTarget();
  const monitor = createLoadMonitor({
    ...{ kafka, now: Date.now, fromFirst: true, log },
    arms: () => monitoredArms(session, calls ?? { of: () => 0 }, engines),
    onRead: () => void read.dispatchEvent(new Event("read")),
  });
  const stop = async (): Promise<void> => {
    monitor.stop();
    engines.stop();
    await calls?.stop();
  };
  try {
    await calls?.caughtUp;
    await once(read, "read", { signal });
  } catch (error) {
    await stop();
    throw error;
  }
  /** Utilisation by arm. */
  const byArm = (): ReadonlyMap<string, number> => monitor.load().byArm;
  return { load: (): number => Math.max(0, ...byArm().values()), byArm, stop };
}

/** The same for a process that seldom needs it: reading starts with the first call of load. */
export function watchWhenAsked(
  session: LoadSession,
  log: LoadSession["log"],
): { load(): number | undefined; byArm(): ReadonlyMap<string, number> | undefined; stop(): Promise<void> } {
  const stopping = new AbortController();
  let opened: BusiestArm | undefined;
  const opening = lazily(async () => {
    try {
      return (opened = await watchBusiestArm(session, stopping.signal));
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error }, "the load of the arms can't be read");
      throw error;
    }
  });
  const read = (): BusiestArm | undefined => {
    opening.get().catch(() => undefined);
    return opened;
  };
  return {
    load: () => read()?.load(),
    byArm: () => read()?.byArm(),
    async stop() {
      stopping.abort();
      await opening
        .opened()
        ?.then((busiest) => busiest.stop())
        .catch(() => undefined);
    },
  };
}
