// What hostile clients cost the others: the latency of the steady load and the memory of the
// stages, beside those of the quiet minutes before.
import type { Rig } from "../../test/faults/support/rig.ts";
import { resident } from "../support/processes.ts";

/** Milliseconds since the epoch. */
export interface Span {
  from: number;
  to: number;
}

export interface NeighbourReport {
  quiet: Latency;
  /** While clients were hostile, kills of servers and the recoveries from them left out. */
  hostile: Latency;
  /** Largest growth of a stage's resident memory, a share; null: no process lived throughout. */
  memory_growth: number | null;
  violations: string[];
}
interface Latency {
  requests: number;
  p50_ms: number;
  p99_ms: number;
}

const bounds = { p99: 3, memory: 0.1 };

/** Resident memory of each stage process, by instance, bytes. */
export const memoryOf = (rig: Rig): ReadonlyMap<string, number> =>
  new Map(Object.entries(rig.workers.pids()).map(([instance, pid]) => [`${instance} ${pid}`, resident(pid).now]));

export async function compareNeighbours(
  rig: Rig,
  spans: { quiet: readonly Span[]; hostile: readonly Span[] },
  memory: { before: ReadonlyMap<string, number>; after: ReadonlyMap<string, number> },
  endpointArm: string,
): Promise<NeighbourReport> {
  const [quiet, hostile] = await Promise.all([
    latencyOf(rig, endpointArm, spans.quiet),
    latencyOf(rig, endpointArm, spans.hostile),
  ]);
  const growths = [...memory.before].flatMap(([process, bytes]) => {
    const after = memory.after.get(process);
    return after === undefined ? [] : [{ process, growth: after / bytes - 1 }];
  });
  const most = growths.sort((a, b) => b.growth - a.growth)[0];
  return {
    quiet,
    hostile,
    memory_growth: most === undefined ? null : Math.round(most.growth * 1_000) / 1_000,
    violations: [
      ...(hostile.p99_ms > bounds.p99 * quiet.p99_ms
        ? [`p99 of the others is ${hostile.p99_ms} ms beside hostile clients, ${quiet.p99_ms} ms without`]
        : []),
      ...(most !== undefined && most.growth > bounds.memory
        ? [`${most.process} has ${Math.round(100 * most.growth)} % more memory than before`]
        : []),
    ],
  };
}

/**
 * Latency of requests that arrived within the spans and are not for the hostile endpoint, from the
 * broker's time to the answer's.
 */
async function latencyOf(
  { session: { clickhouse } }: Rig,
  endpointArm: string,
  spans: readonly Span[],
): Promise<Latency> {
  const [row] = await clickhouse.query<Record<keyof Latency, number | string>>(
    `SELECT count() AS requests, quantileExact(0.5)(ms) AS p50_ms, quantileExact(0.99)(ms) AS p99_ms FROM (
       SELECT dateDiff('millisecond', q.created_at, r.created_at) AS ms
       FROM requests AS q FINAL INNER JOIN responses AS r FINAL ON q.request_id = r.request_id AND q.tenant = r.tenant
       WHERE startsWith(q.request_id, 'load-') AND NOT has(q.allowed_arms, {endpointArm:String}) AND arrayExists(
         (first, last) -> toUnixTimestamp64Milli(q.created_at) BETWEEN first AND last,
         {froms:Array(Int64)}, {tos:Array(Int64)}))`,
    { endpointArm, froms: spans.map(({ from }) => Math.round(from)), tos: spans.map(({ to }) => Math.round(to)) },
  );
  return { requests: Number(row?.requests), p50_ms: Number(row?.p50_ms), p99_ms: Number(row?.p99_ms) };
}
