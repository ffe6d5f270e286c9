// The arms in force in this process. They can change (SIGHUP): read them each time.
import { basename } from "node:path";
import { REUSE_MODEL } from "../algorithms/routing/reuse-quality.ts";
import { modelFile } from "../config/models.ts";
import type { ArmConfig } from "../config/schema.ts";
import { routeArms, type RouteArm } from "../arms/routed.ts";

export type ArmsInForce = ReturnType<typeof createArms>;

export function modelOf(arm: ArmConfig): string {
  if (arm.type === "reuse") return REUSE_MODEL;
  return arm.type === "llama" ? basename(modelFile(arm.model), ".gguf") : arm.model;
}

export function createArms(initial: readonly ArmConfig[]) {
  let configured = initial;
  let routed = routeArms(initial, modelOf);
  return {
    configured: (): readonly ArmConfig[] => configured,
    /** As plan sees them: with their models and normalised costs. */
    routed: (): readonly RouteArm[] => routed,
    replace(arms: readonly ArmConfig[]): void {
      configured = arms;
      routed = routeArms(arms, modelOf);
    },
  };
}

export function compareArms(before: readonly ArmConfig[], after: readonly ArmConfig[]) {
  const old = new Map(before.map((arm) => [arm.name, arm]));
  const names = new Set(after.map(({ name }) => name));
  const same = (a: ArmConfig, b: ArmConfig | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);
  return {
    added: after.filter(({ name }) => !old.has(name)),
    /** Same name, another configuration. */
    changed: after.filter((arm) => old.has(arm.name) && !same(arm, old.get(arm.name))),
    removed: before.filter(({ name }) => !names.has(name)),
  };
}
