// Stages between tenants' topics and the common ones, and the change of tenants: topics first,
// outlet before intake, readers begin anew. Without tenants none runs.
import type { Session } from "../state/session.ts";
import type { RunningStage } from "../runtime/running-stage.ts";
import { sameTenants, type ConfiguredTenants } from "../state/tenants.ts";

/** One that this process runs where there are tenants. */
export interface TenantStage {
  open(): Promise<RunningStage>;
  /** Whether what it reads are topics of tenants; else it asks for the tenants each time. */
  readsTopics: boolean;
}

export interface TenantStages {
  stages(): readonly RunningStage[];
  /** Rejects, with those before in force still, where their topics or stages can't be made. */
  replace(tenants: ConfiguredTenants): Promise<void>;
  stop(): Promise<void>;
}

/** `wanted` may be empty: pieces of answers are copied by other stages of the process. */
export async function startTenantStages(
  session: Pick<Session, "tenants" | "prepareTenants" | "log">,
  wanted: readonly TenantStage[],
): Promise<TenantStages> {
  const { tenants, log } = session;
  const running = new Map<TenantStage, RunningStage>();
  let stopped = false;
  const stop = async (stage: TenantStage): Promise<void> => {
    const one = running.get(stage);
    running.delete(stage);
    await one?.stop();
  };
  const start = async (stage: TenantStage): Promise<void> => {
    if (running.has(stage) || tenants.names().length === 0) return;
    running.set(stage, await stage.open());
  };
  const startAll = async (): Promise<void> => {
    const results = await Promise.allSettled(wanted.map(start));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  const stopAll = (): Promise<unknown> => Promise.all([...running.keys()].map(stop));
  /** Those that are in force may be others than the stages that run began with. */
  const begin = async (readsOthers: boolean): Promise<void> => {
    const over = (stage: TenantStage): boolean => tenants.names().length === 0 || (readsOthers && stage.readsTopics);
    await Promise.all([...running.keys()].filter(over).map(stop));
    await startAll();
  };

  async function replace(next: ConfiguredTenants): Promise<void> {
    const before = tenants.configured();
    if (stopped || sameTenants(before, next)) return;
    await session.prepareTenants(next);
    const names = new Set(tenants.names());
    tenants.replace(next);
    const readsOthers = names.size !== tenants.names().length || tenants.names().some((name) => !names.has(name));
    try {
      await begin(readsOthers);
    } catch (error) {
      tenants.replace(before);
      await begin(readsOthers).catch((again: unknown) => {
        log.error({ err: again }, "a stage of tenants can't be started again: what they write waits until it is");
      });
      throw error;
    }
  }

  try {
    await startAll();
  } catch (error) {
    await stopAll();
    throw error;
  }
  let turn: Promise<unknown> = Promise.resolve();
  return {
    stages: () => [...running.values()],
    replace(next) {
      const mine = turn.then(() => replace(next));
      turn = mine.catch(() => undefined);
      return mine;
    },
    async stop() {
      stopped = true;
      await turn;
      await stopAll();
    },
  };
}
