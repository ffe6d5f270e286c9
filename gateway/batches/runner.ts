// Gives the batches of this gateway their turns: a few at a time, tenants in turn, the batch that
// has waited longest first. Off-peak: what all of them have under way follows the load of the arms.
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { OffPeakWindow } from "../../algorithms/queueing/off-peak-window.ts";
import type { StoredBatch } from "./table.ts";
import type { Work } from "./work.ts";

export interface RunnerDependencies {
  /** Batches that are not finished, of this gateway and of others. */
  unfinished: () => readonly StoredBatch[];
  /** Whether this gateway works on it now. Two may for a while: each line is answered once. */
  owns: (batchId: string) => boolean;
  workOf: (batch: StoredBatch, room: Room) => Work;
  newWindow: () => OffPeakWindow;
  /** Lines under way at most, of those that are due whatever the load is. */
  mostDue: number;
  /** Load of the busiest arm; undefined: it is not known yet. Called while there is work. */
  load: () => number | undefined;
  /** Milliseconds, steady. */
  now: () => number;
  log: Logger;
  lookEveryMs?: number;
}

export interface Room {
  take(due: boolean): (() => void) | undefined;
}

export interface Runner {
  stop(): Promise<void>;
}

const turns = 4;
/** While others wait. */
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

export function createRunner(dependencies: RunnerDependencies): Runner {
  const { unfinished, owns, workOf, newWindow, mostDue, load, now, log, lookEveryMs = 250 } = dependencies;
  const jobs = new Map<string, Job>();
  const stopping = new AbortController();
  let underWay = 0;
  let finished = 0;
  let window = newWindow();
  let observedAt = -Infinity;

  const room: Room = {
    take(due) {
      if (underWay >= (due ? mostDue : window.size())) return undefined;
      underWay++;
      let given = false;
      return () => {
        if (given) return;
        given = true;
        underWay--;
        finished++;
      };
    },
  };
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

  /** Batches that came, went, or are another gateway's now. */
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
        // Each line under way listens to it.
        setMaxListeners(0, ending.signal);
        jobs.set(id, { batch, work: workOf(batch, room), notBefore: 0, ranAt: -Infinity, ending });
      }
    }
  };

  const look = (): void => {
    refresh();
    if (jobs.size === 0) {
      window = newWindow();
      return;
    }
    const busiest = load();
    // As long as it is not known, only what is due goes on.
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
        log.error({ err: error }, "no look at the batches");
      }
      await sleep(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  return {
    async stop() {
      stopping.abort();
      for (const { ending } of jobs.values()) ending.abort();
      await Promise.all([looking, ...running().map(({ turn }) => turn)]);
    },
  };
}
