// Runs stages in this process: all of them by default, each under the same stable instance id.
import { lostMarkersRemedy } from "../connections/kafka/lost-markers.ts";
import { shareBreakers, type BreakersOf, type SharedBreakers } from "../state/breakers/breakers.ts";
import { shareCancels, type CancelsOf, type SharedCancels } from "../state/cancels.ts";
import { acquireInstance } from "../stack/instance.ts";
import type { ArmConfig, Config } from "../config/schema.ts";
import { tenantsOf } from "../config/tenants.ts";
import { startCurate } from "./curate/start.ts";
import type { RunningGateway } from "./gateway/start.ts";
import { startGenerators, type Generators } from "./generate/generators.ts";
import { startGenerate } from "./generate/start.ts";
import { startIntakeFeedback, startIntakeRequests } from "./intake/start.ts";
import { startLearn } from "./learn/start.ts";
import { startOutletAlternativeAnswers, startOutletResponses } from "./outlet/start.ts";
import { startPlan, type RunningPlan } from "./plan/start.ts";
import { startRecord } from "./record/start.ts";
import { startScheduledExampleReplays } from "./replay/scheduled.ts";
import { scheduleOf } from "./replay/schedule.ts";
import type { Session } from "./session.ts";
import type { RunningStage } from "../runtime/running-stage.ts";
import { startTenantStages, type TenantStage, type TenantStages } from "./tenant-stages.ts";

/** Stages that may be named, and those that are only where tenants have topics of their own. */
export const stageNames = ["plan", "generate", "record", "learn", "curate", "gateway"] as const;
const tenantStageNames = ["intake", "outlet"] as const;
export const allStageNames = [...stageNames, ...tenantStageNames] as const;
export type StageName = (typeof allStageNames)[number];

/** Stages that need ClickHouse; a process without them also starts while it is away. */
const tableStages: readonly StageName[] = ["record", "learn", "curate"];
export const tablesFor = (stages: readonly StageName[]): true | "if-there" =>
  stages.some((stage) => tableStages.includes(stage)) || "if-there";

type TenantStageName = (typeof tenantStageNames)[number];
type OwnStageName = Exclude<StageName, TenantStageName>;

const isTenantStage = (stage: StageName): stage is TenantStageName => tenantStageNames.some((one) => one === stage);

export const stagesOf = (config: Pick<Config, "tenants">): readonly StageName[] =>
  tenantsOf(config).length === 0 ? stageNames : allStageNames;

export interface StartOptions {
  /** All by default; those of tenants where there are any, also when they come while it runs. */
  stages?: readonly StageName[];
  arms?: readonly string[];
  /** Called with the name of each stage that runs. */
  onStarted?: ((stage: StageName) => void) | undefined;
}

export interface RunningStages {
  /** One a stage, generate one an arm that is queued. */
  reports(): Record<string, ReturnType<RunningStage["health"]>>;
  /** Where OpenAI clients find the gateway, http://HOST:PORT/v1; undefined: it does not run here. */
  baseUrl: string | undefined;
  /** Changes arms without a restart; rejects, changing nothing, when one can't be made. */
  replaceArms(arms: readonly ArmConfig[]): Promise<void>;
  /** The same of tenants with topics of their own. */
  replaceTenants(tenants: Config["tenants"]): Promise<void>;
  /** Finishes or abandons what is under way within limits.drainMs, commits, leaves. */
  stop(): Promise<void>;
}

/** Rejects when the id is taken or a stage fails; what was started stops again. */
export async function startStages(
  session: Session,
  { stages: named, arms, onStarted }: StartOptions = {},
): Promise<RunningStages> {
  const { config } = session;
  const stages = named ?? allStageNames;
  const idle = named?.find((stage) => isTenantStage(stage) && !stagesOf(config).includes(stage));
  if (idle !== undefined)
    throw new Error(`no tenant has topics of its own, so there is nothing for ${idle} to do: name some in tenants`);
  void warnOfBrokers(session);
  const folder = config.stack.folder;
  const instance = await acquireInstance(folder, stages.length === 1 ? (stages[0] ?? "up") : "up", config.instance);
  const started: Started = { running: [] };
  const { running } = started;
  let ofTenants: TenantStages | undefined;
  let shared: SharedBreakers | undefined;
  let cancels: SharedCancels | undefined;
  /** One for all arms that this process calls, as plan or as generate. */
  const breakersOf: BreakersOf = (session) => (shared ??= shareBreakers(session, instance.id));
  const cancelsOf: CancelsOf = (session) => (cancels ??= shareCancels(session));
  const stop = async (): Promise<void> => {
    await Promise.all([
      started.generators?.stop(),
      ofTenants?.stop(),
      ...running.splice(0).map((stage) => stage.stop()),
    ]);
    await Promise.all([shared?.stop(), cancels?.stop()]);
    await instance.release();
  };
  const opening: Opening = { session, instance: instance.id, arms, breakersOf, cancelsOf };
  const startOfTenants = async (): Promise<void> => {
    ofTenants = await startTenantStages(
      session,
      stages.filter(isTenantStage).flatMap(tenantStages(session, instance.id)),
    );
  };
  const others = stages.filter((stage): stage is OwnStageName => !isTenantStage(stage));
  const results = await Promise.allSettled([
    ...others.map((stage) => startStage(stage, opening, started).then(() => onStarted?.(stage))),
    startOfTenants(),
  ]);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const reports = (stages: readonly RunningStage[]): ReturnType<RunningStages["reports"]> =>
    Object.fromEntries(stages.map((stage) => [stage.name, stage.health()]));
  return {
    baseUrl: started.gateway?.baseUrl,
    reports: () => ({ ...reports(running), ...started.generators?.reports(), ...reports(ofTenants?.stages() ?? []) }),
    replaceArms: (next) => replaceArms(session, started, next),
    replaceTenants: async (tenants) => ofTenants?.replace(tenants),
    stop,
  };
}

interface Started {
  running: RunningStage[];
  plan?: RunningPlan;
  generators?: Generators;
  gateway?: RunningGateway;
}

interface Opening {
  session: Session;
  instance: string;
  arms: readonly string[] | undefined;
  breakersOf: BreakersOf;
  cancelsOf: CancelsOf;
}

async function startStage(stage: OwnStageName, opening: Opening, started: Started): Promise<void> {
  const { session, instance, arms, breakersOf, cancelsOf } = opening;
  const { running } = started;
  if (stage === "plan") running.push((started.plan = await startPlan(session, instance, breakersOf, cancelsOf)));
  else if (stage === "record") running.push(await startRecord(session, instance));
  else if (stage === "learn") running.push(await startLearn(session, instance));
  else if (stage === "curate") {
    running.push(await startCurate(session, instance));
    const schedule = scheduleOf(session.config);
    if (schedule !== undefined) running.push(await startScheduledExampleReplays(session, instance, schedule));
  } else if (stage === "gateway") {
    // Loaded where it runs: a process of another stage needs no HTTP server of it.
    const { startGateway } = await import("./gateway/start.ts");
    running.push((started.gateway = await startGateway(session, instance)));
  } else
    started.generators = await startGenerators(session, async (arm) =>
      arms?.includes(arm.name) === false ? undefined : startGenerate(session, instance, arm, breakersOf, cancelsOf),
    );
}

async function replaceArms(
  session: Session,
  { plan, generators }: Pick<Started, "plan" | "generators">,
  next: readonly ArmConfig[],
): Promise<void> {
  const bringIntoForce = async (): Promise<void> => {
    if (generators !== undefined) return generators.replace(next);
    await session.prepareArms(next.map(({ name }) => name));
    session.arms.replace(next);
  };
  await (plan === undefined ? bringIntoForce() : plan.replaceArms(next, bringIntoForce));
}

/** Outlet copies for the current tenants; intake reads topics of tenants. */
const tenantStages =
  (session: Session, instance: string) =>
  (name: TenantStageName): TenantStage[] =>
    name === "intake"
      ? [startIntakeRequests, startIntakeFeedback].map((start) => ({
          ...{ readsTopics: true, open: () => start(session, instance) },
        }))
      : [startOutletResponses, startOutletAlternativeAnswers].map((start) => ({
          ...{ readsTopics: false, open: () => start(session, instance) },
        }));

/** Said once a start; a broker that does not answer now is no reason to wait. */
async function warnOfBrokers({ kafka, log }: Session): Promise<void> {
  try {
    const problem = await kafka.brokerProblem();
    if (problem !== undefined) log.warn({ remedy: lostMarkersRemedy }, problem);
  } catch (error) {
    log.debug({ err: error }, "the brokers' versions are not known");
  }
}
