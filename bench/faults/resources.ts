// Memory and handles of every process of a run, and ClickHouse's parts, looked at every few
// seconds: what grows without end shows as a slope.
import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Rig } from "../../test/faults/support/rig.ts";
import { resident } from "../support/processes.ts";
import { slope } from "../support/statistics.ts";

export interface ProcessResources {
  process: string;
  /** Minutes of its longest life; a killed process starts again from 0. */
  minutes: number;
  rss_mib: { first: number; last: number; most: number; per_minute: number };
  handles: { first: number; last: number; most: number; per_minute: number };
}

export interface Resources {
  processes: ProcessResources[];
  /** Active parts in ClickHouse. */
  parts: { last: number; most: number; per_minute: number } | null;
  violations: string[];
}

/**
 * Above these something is not bounded that should be: several times what a run of half an hour
 * needs.
 */
export const bounds = { rss_mib: 3_000, handles: 1_500, parts: 1_000 };

interface Sample {
  at: number;
  rss: number;
  handles: number;
}

export function watchResources(rig: Rig, everyMs = 5_000): { stop(): Promise<Resources> } {
  const lives = new Map<string, { process: string; samples: Sample[] }>();
  const parts: [number, number][] = [];
  let stopped = false;
  const began = performance.now();
  const now = (): number => (performance.now() - began) / 60_000;

  const look = async (process: string, pid: number): Promise<void> => {
    const handles = (await readdir(`/proc/${pid}/fd`)).length;
    const key = `${process} ${pid}`;
    const life = lives.get(key) ?? { process, samples: [] };
    life.samples.push({ at: now(), rss: resident(pid).now, handles });
    lives.set(key, life);
  };
  const watch = (async () => {
    for (; !stopped; await sleep(everyMs)) {
      const servers = ["kafka", "registry", "clickhouse", "supervisor"] as const;
      // What is being killed or started just now is looked at the next time.
      const skip = (): undefined => undefined;
      await Promise.all(
        [
          ...servers.map(async (name) => look(name, await rig.pidOf(name)).catch(skip)),
          ...Object.entries(rig.workers.pids()).map(([instance, pid]) => look(instance, pid).catch(skip)),
          look("the soak itself", process.pid).catch(skip),
          countParts(rig).then((count) => parts.push([now(), count]), skip),
        ].map((one) => one.catch(skip)),
      );
    }
  })();

  return {
    async stop() {
      stopped = true;
      await watch;
      const longest = new Map<string, Sample[]>();
      for (const { process, samples } of lives.values())
        if (samples.length > (longest.get(process)?.length ?? 0)) longest.set(process, samples);
      const processes = [...longest].map(([process, samples]) => ({
        process,
        minutes: rounded((samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0)),
        rss_mib: summary(samples.map(({ at, rss }) => [at, rss] as const)),
        handles: summary(samples.map(({ at, handles }) => [at, handles] as const)),
      }));
      const ofParts = parts.length === 0 ? null : summary(parts);
      const violations = processes.flatMap(({ process, rss_mib, handles }) => [
        ...(rss_mib.most > bounds.rss_mib ? [`${process} took ${rss_mib.most} MiB, more than ${bounds.rss_mib}`] : []),
        ...(handles.most > bounds.handles
          ? [`${process} had ${handles.most} handles, more than ${bounds.handles}`]
          : []),
      ]);
      if (ofParts !== null && ofParts.most > bounds.parts)
        violations.push(`ClickHouse had ${ofParts.most} active parts, more than ${bounds.parts}`);
      return { processes, parts: ofParts, violations };
    },
  };
}

async function countParts({ session }: Rig): Promise<number> {
  const [row] = await session.clickhouse.query<{ parts: number | string }>(
    "SELECT count() AS parts FROM system.parts WHERE active AND database = currentDatabase()",
  );
  return Number(row?.parts);
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
const summary = (points: readonly (readonly [number, number])[]): ProcessResources["handles"] => ({
  first: rounded(points[0]?.[1] ?? 0),
  last: rounded(points.at(-1)?.[1] ?? 0),
  most: rounded(Math.max(...points.map(([, value]) => value))),
  per_minute: points.length < 2 ? 0 : rounded(slope(points)),
});
