// How busy engines report to be, of all arms in force that have a metricsUrl: those of queued arms
// are called in other processes.
import type { Logger } from "pino";
import type { ReplicaState } from "./arm.ts";
import { engineUtilisation, type EngineLoad } from "./openai/replicas/engine-metrics.ts";
import { followMembers, type Members } from "./openai/replicas/members.ts";
import type { ArmConfig } from "../config/schema.ts";
import { isEndpoint, type EndpointArmConfig } from "../config/sections/arms.ts";

export type Engines = ReturnType<typeof openEngines>;

/** `own`: replicas of an arm that this process calls; others are followed while in force. */
export function openEngines(
  configured: () => readonly ArmConfig[],
  log: Logger,
  own: (arm: string) => readonly Pick<ReplicaState, "engine">[] | undefined = () => undefined,
) {
  const followed = new Map<ArmConfig, Members>();
  let inForce: readonly ArmConfig[] = [];

  const closeGone = (): void => {
    if (inForce === configured()) return;
    inForce = configured();
    for (const [arm, members] of followed)
      if (!inForce.includes(arm)) {
        members.close();
        followed.delete(arm);
      }
  };
  const loadsOf = (arm: EndpointArmConfig): EngineLoad[] => {
    const mine = own(arm.name);
    if (mine !== undefined) return mine.flatMap(({ engine }) => engine ?? []);
    const members = followed.get(arm) ?? followMembers(arm, { log });
    followed.set(arm, members);
    return members.now().flatMap(({ engine }) => engine()?.load ?? []);
  };

  return {
    /** Mean of the arm's replicas that report; undefined: none does. 1: full. */
    utilisation(arm: ArmConfig): number | undefined {
      closeGone();
      if (!isEndpoint(arm) || !reports(arm)) return undefined;
      const loads = loadsOf(arm);
      if (loads.length === 0) return undefined;
      return loads.reduce((sum, load) => sum + engineUtilisation(load), 0) / loads.length;
    },
    stop(): void {
      for (const members of followed.values()) members.close();
    },
  };
}

const reports = ({ metricsUrl, endpoints = [] }: EndpointArmConfig): boolean =>
  metricsUrl !== undefined || endpoints.some((one) => one.metricsUrl !== undefined);
