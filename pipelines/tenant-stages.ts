// The stages between the topics of tenants and those of all, and the change of tenants while a
// process runs: topics are made before anything may be written to them, outlet knows a tenant
// before intake takes its first request, and a stage that reads topics of tenants begins anew where
// these are others. Without tenants none of these stages runs.
import pLimit from "p-limit";
import type { Session } from "../state/session.ts";
import type { RunningStage } from "../runtime/running-stage.ts";
import { sameTenants, type ConfiguredTenants } from "../state/tenants.ts";

/** One that this process runs where there are tenants. */
export interface TenantStage {
  open(): Promise<RunningStage>;
  /** Whether what it reads are topics of tenants; else it asks for the tenants each time. */
  readsTopics: boolean;
}

export type TenantStages = Awaited<ReturnType<typeof startTenantStages>>;

/** `wanted` may be empty: pieces of answers are copied by other stages of the process. */
export async function startTenantStages(
  session: Pick<Session, "tenants" | "prepareTenants" | "log">,
  wanted: readonly TenantStage[],
) {
  const { tenants, log } = session;
  const stages = createStageSet(wanted, () => tenants.names().length > 0);
  const inTurn = pLimit(1);
  let stopped = false;

  async function replace(next: ConfiguredTenants): Promise<void> {
    const before = tenants.configured();
    if (stopped || sameTenants(before, next)) return;
    await session.prepareTenants(next);
    const names = new Set(tenants.names());
    tenants.replace(next);
    const readsOthers = names.size !== tenants.names().length || tenants.names().some((name) => !names.has(name));
    try {
      await stages.restart(readsOthers);
    } catch (error) {
      tenants.replace(before);
      await stages.restart(readsOthers).catch((again: unknown) => {
        log.error({ err: again }, "a stage of tenants can't be started again: what they write waits until it is");
      });
      throw error;
    }
  }

  try {
    await stages.startAll();
  } catch (error) {
    await stages.stopAll();
    throw error;
  }
  return {
    stages: stages.all,
    /** Rejects, with those before in force still, where their topics or stages can't be made. */
    replace: (next: ConfiguredTenants): Promise<void> => inTurn(() => replace(next)),
    stop(): Promise<void> {
      stopped = true;
      return inTurn(stages.stopAll);
    },
  };
}

/** The wanted stages, running only while there are tenants. */
function createStageSet(wanted: readonly TenantStage[], hasTenants: () => boolean) {
  const running = new Map<TenantStage, RunningStage>();
  const stop = async (stage: TenantStage): Promise<void> => {
    const one = running.get(stage);
    running.delete(stage);
    await one?.stop();
  };
  const start = async (stage: TenantStage): Promise<void> => {
    if (!running.has(stage) && hasTenants()) running.set(stage, await stage.open());
  };
  /** Rejects when one can't be opened, after all others were tried. */
  const startAll = async (): Promise<void> => {
    const results = await Promise.allSettled(wanted.map(start));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  const stopWhere = async (is: (stage: TenantStage) => boolean): Promise<void> => {
    await Promise.all([...running.keys()].filter(is).map(stop));
  };
  return {
    all: () => [...running.values()],
    startAll,
    stopAll: () => stopWhere(() => true),
    /** Opens anew what reads topics where these changed, and everything that does not run. */
    async restart(topicsChanged: boolean): Promise<void> {
      await stopWhere((stage) => !hasTenants() || (topicsChanged && stage.readsTopics));
      await startAll();
    },
  };
}
