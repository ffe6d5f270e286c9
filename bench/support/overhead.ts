// What requests take, by process, where real models answer through the stages: CPU seconds of the
// models, of ours and of the servers; and what a request takes besides its model, under load.
import { cpuSeconds, cpuSecondsOfTree } from "./processes.ts";
import { median, significant } from "./statistics.ts";

/** CPU seconds: the arms' models, ours (stages, embedder, index), Kafka, registry, ClickHouse. */
export interface Cpu {
  model: number;
  ours: number;
  servers: number;
}

export interface Overhead {
  /** CPU seconds a request, that many in flight. */
  ours: number;
  servers: number;
  requests: number;
  in_flight: number;
  /** From its arrival to its response, one at a time, median. */
  alone_ms: number;
}

/** Spent so far. servers: process ids. */
export type Used = () => Cpu;

export const cpuOf =
  (servers: Record<string, number>): Used =>
  () => {
    const { llama = 0, ...ours } = cpuSecondsOfTree(process.pid);
    return { model: llama, ours: sum(Object.values(ours)), servers: sum(Object.values(servers).map(cpuSeconds)) };
  };

export const spent = (after: Cpu, before: Cpu): Cpu => ({
  model: after.model - before.model,
  ours: after.ours - before.ours,
  servers: after.servers - before.servers,
});

/**
 * Requests that need no model: some alone, the others as many at a time as a busy system has. `ask`
 * gives a request's milliseconds. One at a time, the idle time of all processes would count.
 */
export async function measureOverhead<T>(
  requests: readonly T[],
  inFlight: number,
  ask: (request: T) => Promise<number>,
  used: Used,
): Promise<Overhead> {
  const waiting = [...requests];
  const alone: number[] = [];
  for (const request of waiting.splice(0, inFlight)) alone.push(await ask(request));
  const [count, before] = [waiting.length, used()];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await ask(next);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const { ours, servers } = spent(used(), before);
  const each = (value: number): number => significant(value / count);
  // The embedder and the index are warm in the second half.
  const alone_ms = significant(median(alone.slice(alone.length >> 1)));
  return { ours: each(ours), servers: each(servers), requests: count, in_flight: inFlight, alone_ms };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
