// precedent doctor on the endpoints of an arm: each replica, and where it reports its load.
import { messageOf } from "../connections/errors.ts";
import type { EndpointArmConfig } from "../config/sections/arms.ts";
import { readEngineLoad } from "./openai/replicas/engine-poll.ts";
import {
  addressesOf,
  connectionsTo,
  endpointsOf,
  engineSource,
  type Endpoint,
  type Lookup,
} from "./openai/replicas/members.ts";
import { probeEndpoint, reasonOf, type EndpointFinding } from "./probe-endpoint.ts";

/** A call costs tokens: of more replicas the first ones stand for all. */
const mostProbed = 16;

export interface ReplicaFinding extends EndpointFinding {
  /** The replica, and "metrics" for its load; "" for the only endpoint of an arm. */
  of: string;
}

/** Never rejects. */
export async function probeReplicas(arm: EndpointArmConfig, lookup?: Lookup): Promise<ReplicaFinding[]> {
  let replicas = endpointsOf(arm);
  if (arm.discover === "dns")
    try {
      replicas = await addressesOf(arm, lookup);
      if (replicas.length === 0) throw new Error("it has no address");
    } catch (error) {
      const detail = `the host of ${String(arm.baseUrl)} can't be looked up: ${messageOf(error)}`;
      return [{ of: "", state: "missing", detail, remedy: "see that baseUrl names a host of your DNS" }];
    }
  const isSingle = replicas.length === 1 && arm.discover === "off";
  const found = replicas.slice(0, mostProbed).flatMap((replica) => [
    probeEndpoint(arm, replica).then((finding) => ({ of: isSingle ? "" : replica.name, ...finding })),
    ...(replica.metricsUrl === undefined
      ? []
      : [
          probeMetrics(replica).then((finding) => ({
            of: isSingle ? "metrics" : `${replica.name} metrics`,
            ...finding,
          })),
        ]),
  ]);
  const rest = replicas.length - mostProbed;
  const skipped: ReplicaFinding = {
    of: "others",
    state: "fine",
    detail: `${rest} more replicas, which were not called`,
  };
  const findings = await Promise.all(found);
  // While another one answers, the arm does: a replica that is away is no reason to stop.
  const isServed = findings.some(({ of, state }) => !of.endsWith("metrics") && state !== "missing");
  return [
    ...findings.map((one) => (one.state === "missing" && isServed ? { ...one, state: "lacking" as const } : one)),
    ...(rest > 0 ? [skipped] : []),
  ];
}

async function probeMetrics(replica: Endpoint): Promise<EndpointFinding> {
  const dispatcher = connectionsTo(replica);
  const source = engineSource(replica, dispatcher)!;
  try {
    const { running, waiting, cacheUsage } = await readEngineLoad(source);
    const used = cacheUsage === null ? "" : `, ${Math.round(cacheUsage * 100)} % of its KV cache in use`;
    return { state: "fine", detail: `${source.url}: ${String(running ?? "?")} running, ${waiting} waiting${used}` };
  } catch (error) {
    return {
      state: "lacking",
      detail: `${source.url}: ${reasonOf(error)}`,
      remedy:
        "correct metricsUrl; SGLang needs --enable-metrics and llama-server --metrics. Until then only our own calls are counted",
    };
  } finally {
    void dispatcher?.destroy();
  }
}
