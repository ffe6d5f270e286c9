// Schedules the batches of this gateway: a few at a time, tenants in turn, the batch that has
// waited longest first. Off-peak: the lines under way follow the utilisation of the busiest arm.
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { createHeldCounts } from "../../algorithms/queueing/held-counts.ts";
import type { OffPeakWindow } from "../../algorithms/queueing/off-peak-window.ts";
import type { StoredBatch } from "./table.ts";
import type { Work } from "./work.ts";

export interface RunnerDependencies {
  /** Batches that are not finished, of this gateway and of others. */
  unfinished: () => readonly StoredBatch[];
  /** Whether this gateway owns it now. Two may for a while; still each line is answered once. */
  owns: (batchId: string) => boolean;
  workOf: (batch: StoredBatch, room: Room) => Work;
  newWindow: () => OffPeakWindow;
  /** Maximum lines under way once lines are due; due lines are asked whatever the load is. */
  mostDue: number;
  /** Utilisation of the busiest arm; undefined: not known yet. Called while there is work. */
  load: () => number | undefined;
  /** Milliseconds on a monotonic clock. */
  now: () => number;
  log: Logger;
  lookEveryMs?: number;
}

export interface Room {
  take(due: boolean): (() => void) | undefined;
}

const turns = 4;
/** Length of a turn while other batches wait. */
const turnMs = 10_000;
const observeEveryMs = 1_000;

interface Job {
  batch: StoredBatch;
  work: Work;
  notBefore: number;
  ranAt: number;
  ending: AbortController;
  turn?: Promise<void> | undefined;
}

export function createRunner(dependencies: RunnerDependencies) {
  const { unfinished, owns, workOf, newWindow, mostDue, load, now, log, lookEveryMs = 250 } = dependencies;
  const jobs = new Map<string, Job>();
  const stopping = new AbortController();
  let finished = 0;
  let window = newWindow();
  let observedAt = -Infinity;

  /** Lines under way of each tenant, and how many tenants have work. */
  const ofTenants = createHeldCounts();
  let tenants = 1;
  /** A tenant has its even share at most: slow lines of one hold up no other. */
  const roomOf = (tenant: string): Room => ({
    take(due) {
      const most = due ? mostDue : window.size();
      if (ofTenants.total() >= most || ofTenants.of(tenant) >= Math.ceil(most / tenants)) return undefined;
      const release = ofTenants.take(tenant);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        finished++;
        release();
      };
    },
  });
  const waiting = (): Job[] => [...jobs.values()].filter((job) => job.turn === undefined && job.notBefore <= now());
  const running = (): Job[] => [...jobs.values()].filter((job) => job.turn !== undefined);

  const run = (job: Job): void => {
    const since = now();
    const options = {
      batch: () => job.batch,
      isOver: () => now() - since >= turnMs && waiting().length > 0,
      signal: job.ending.signal,
    };
    job.turn = job.work
      .turn(options)
      .then(
        (waitMs) => (job.notBefore = waitMs === undefined ? Infinity : now() + waitMs),
        (error: unknown) => {
          if (!job.ending.signal.aborted) log.error({ err: error, batch: job.batch.id }, "a batch failed");
          job.notBefore = now() + turnMs;
        },
      )
      .then(() => {
        job.ranAt = now();
        job.turn = undefined;
      });
  };

  /** Follows batches that are new, ended, or owned by another gateway now. */
  const refresh = (): void => {
    const mine = new Map(unfinished().flatMap((batch) => (owns(batch.id) ? [[batch.id, batch] as const] : [])));
    for (const [id, job] of jobs) {
      if (mine.has(id) && !job.ending.signal.aborted) continue;
      job.ending.abort();
      if (job.turn === undefined) jobs.delete(id);
    }
    for (const [id, batch] of mine) {
      const known = jobs.get(id);
      if (known !== undefined) known.batch = batch;
      else {
        const ending = new AbortController();
        // Each line under way adds a listener.
        setMaxListeners(0, ending.signal);
        jobs.set(id, { batch, work: workOf(batch, roomOf(batch.tenant)), notBefore: 0, ranAt: -Infinity, ending });
      }
    }
    tenants = Math.max(1, new Set([...jobs.values()].map(({ batch }) => batch.tenant)).size);
  };

  const look = (): void => {
    refresh();
    if (jobs.size === 0) {
      window = newWindow();
      return;
    }
    const busiest = load();
    // While the load is unknown, only lines that are due are asked.
    if (now() - observedAt >= observeEveryMs) {
      observedAt = now();
      window.observe(busiest ?? Infinity, finished);
      finished = 0;
    }
    while (running().length < turns) {
      const busy = running();
      const turnsOf = ({ batch: { tenant } }: Job): number => busy.filter((job) => job.batch.tenant === tenant).length;
      const [next] = waiting()
        .filter(({ ending }) => !ending.signal.aborted)
        .sort((a, b) => turnsOf(a) - turnsOf(b) || a.ranAt - b.ranAt || a.batch.createdAt - b.batch.createdAt);
      if (next === undefined) return;
      run(next);
    }
  };

  const looking = (async () => {
    while (!stopping.signal.aborted) {
      try {
        look();
      } catch (error) {
        log.error({ err: error }, "batches could not be scheduled; tried again");
      }
      await sleep(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  return {
    async stop(): Promise<void> {
      stopping.abort();
      for (const { ending } of jobs.values()) ending.abort();
      await Promise.all([looking, ...running().map(({ turn }) => turn)]);
    },
  };
}
