// Versions of the router that experiments name. Each has a key of its own on the compacted topic
// `policies`, so it is there whatever is learnt since.
import type { Policy } from "../../schemas/types.ts";
import { appendOnce, type Policies } from "./append.ts";
import { policyHistory } from "./history.ts";
import { decodeRouterPolicy, ROUTER } from "./router.ts";

export const pinName = (version: number): string => `${ROUTER}@${version}`;
export const isPin = (name: string): boolean => name.startsWith(`${ROUTER}@`);

/** Publishes a recorded version under its own name. Repeatable; throws where it can't be used. */
export async function pinPolicy(policies: Policies, version: number, now: number): Promise<Policy> {
  const [recorded] = await policyHistory(policies.clickhouse, ROUTER, { version });
  if (recorded === undefined)
    throw new Error(`${ROUTER} has no version ${version}: precedent policy history ${ROUTER}`);
  const decoded = decodeRouterPolicy(recorded);
  if ("problem" in decoded) throw new Error(decoded.problem);
  const name = pinName(version);
  return appendOnce(policies, name, () => ({ ...recorded, name, revertOf: null, createdAt: now }));
}
