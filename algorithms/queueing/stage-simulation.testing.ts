// A stage process as events: records arrive as a Poisson stream, one thread takes what is to be
// done in its order, and transactions follow each other: slices of CPU with round trips between
// them, each for what is done when it begins. What capacity.ts says in formulas, without them.
import { requestsOfTransaction as slices, type StageTimes } from "./capacity.ts";

export interface Simulated {
  batch: number;
  utilisation: number;
  cpuMs: number;
  latencyMs: number;
}

/**
 * random: in [0, 1). Times of records are exponential around their mean, those of transactions
 * constant.
 */
export function simulateStage(
  { transactionMs, commitMs, recordMs }: StageTimes,
  ratePerSecond: number,
  { records, random }: { records: number; random: () => number },
): Simulated {
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  interface Event {
    at: number;
    then: (now: number) => void;
  }
  const events: Event[] = [];
  const later = (at: number, then: Event["then"]): void => {
    let index = events.length;
    while (index > 0 && events[index - 1]!.at < at) index--;
    events.splice(index, 0, { at, then }); // the next one is last
  };
  const thread: { ms: number; then: (now: number) => void }[] = [];
  let taken = false;
  let busyMs = 0;
  const next = (now: number): void => {
    const task = thread.shift();
    taken = task !== undefined;
    if (task === undefined) return;
    busyMs += task.ms;
    later(now + task.ms, (end) => {
      task.then(end);
      next(end);
    });
  };
  const run = (now: number, ms: number, then: (now: number) => void): void => {
    thread.push({ ms, then });
    if (!taken) next(now);
  };

  let done: number[] = [];
  let committing = false;
  const totals = { records: 0, transactions: 0, latencyMs: 0 };
  const commit = (now: number): void => {
    if (committing || done.length === 0) return;
    committing = true;
    const batch = done;
    done = [];
    const slice = (left: number, from: number): void =>
      run(from, transactionMs / slices, (end) =>
        later(end + commitMs / slices, (answered) => {
          if (left > 1) return slice(left - 1, answered);
          committing = false;
          totals.transactions++;
          totals.records += batch.length;
          for (const arrived of batch) totals.latencyMs += answered - arrived;
          commit(answered);
        }),
      );
    slice(slices, now);
  };
  let arrived = 0;
  const arrive = (now: number): void => {
    run(now, exponential(recordMs), (end) => {
      done.push(now);
      commit(end);
    });
    if (++arrived < records) later(now + exponential(1_000 / ratePerSecond), arrive);
  };
  later(0, arrive);
  let now = 0;
  for (let event = events.pop(); event !== undefined; event = events.pop()) event.then((now = event.at));
  return {
    batch: totals.records / totals.transactions,
    utilisation: busyMs / now,
    cpuMs: busyMs / totals.records,
    latencyMs: totals.latencyMs / totals.records,
  };
}
