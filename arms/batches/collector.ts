// Collects lines for batches at the provider, and waits for their results. A batch is created only
// if the provider's list, read just before, has none of its lines: an earlier process may have
// submitted them. Between list and creation at most collectMs may pass. So a process that was
// frozen creates nothing beside the one that took over.
import { setTimeout as sleep } from "node:timers/promises";
import { APIError } from "openai";
import type { Logger } from "pino";
import { messageOf } from "../../connections/errors.ts";
import { isMissing, isRefusal } from "./http.ts";
import type { BatchLine, LineResult, Provider, ProviderBatch } from "./port.ts";
import { createSubmitted } from "./submitted.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface CollectorOptions {
  provider: Provider;
  collectMs: number;
  pollMs: number;
  /** Age at which a batch is cancelled. */
  timeoutMs: number;
  clock?: () => number;
  log: Logger;
}

/** reason: why the batch has no result of the line. */
export type BatchOutcome = LineResult | { refused: Error } | { reason: string };

/** OpenAI allows 50,000 and 200 MB. */
const mostLines = 10_000;
const mostBytes = 64 * 1_048_576;
/** Time before a line's deadline that is left for another arm. */
const reserveMs = 3_600_000;

interface Item extends BatchLine {
  deadline: number;
  since: number;
  isWithdrawn: boolean;
  batch?: Open | undefined;
  settle(outcome: BatchOutcome | null): void;
}

interface Open {
  batch: ProviderBatch;
  lines: number;
  items: Set<Item>;
  /** Ids of lines whose result is not needed any more. */
  unwanted: Set<string>;
  lookAt: number;
}

export function createCollector({ provider, clock = Date.now, log, ...times }: CollectorOptions) {
  const { collectMs, pollMs, timeoutMs } = times;
  const submitted = createSubmitted(provider, clock);
  const waiting = new Set<Item>();
  const open = new Map<string, Open>();
  const closing = new AbortController();
  const { signal: closed } = closing;
  let notBefore = 0;
  let working: Promise<void> | undefined;

  const openOf = (batch: ProviderBatch, lines: number): Open => {
    const one = open.get(batch.id) ?? { batch, lines, items: new Set(), unwanted: new Set(), lookAt: 0 };
    open.set(batch.id, one);
    return one;
  };
  const attach = (item: Item, one: Open): void => {
    waiting.delete(item);
    one.items.add(item);
    item.batch = one;
  };

  /** Lines for one batch, each id once. */
  const nextGroup = (): Map<string, Item> => {
    const group = new Map<string, Item>();
    let bytes = 0;
    for (const item of waiting) {
      bytes += Buffer.byteLength(item.body);
      if (group.size >= mostLines || (bytes > mostBytes && group.size > 0)) break;
      group.set(item.id, item);
    }
    return group;
  };

  async function refresh(): Promise<void> {
    try {
      await submitted.refresh();
    } catch (error) {
      // The endpoint has no Batch API.
      if (isMissing(error)) for (const item of waiting) item.settle({ refused: error });
      else throw error;
    }
  }

  async function attachFound(): Promise<void> {
    await refresh();
    for (const item of waiting) {
      const found = submitted.find(item.id);
      if (found !== undefined) attach(item, openOf(found.batch, found.lines));
    }
  }

  async function submitWaiting(): Promise<void> {
    await attachFound();
    for (const item of waiting)
      if (item.deadline - clock() <= reserveMs) item.settle({ reason: "too little time is left for a batch" });
    while (waiting.size > 0 && !closed.aborted) {
      const group = nextGroup();
      const lines = [...group.values()];
      try {
        const file = await provider.upload(lines);
        const began = performance.now();
        await attachFound();
        const isWanted = lines.some((item) => waiting.has(item));
        if (!isWanted || lines.some((item) => item.batch !== undefined)) continue;
        if (closed.aborted) return;
        if (performance.now() - began >= collectMs)
          throw new Error("the provider's batches could not be listed within batchCollectMs: raise it");
        const batch = await provider.create(file);
        submitted.add(batch, [...group.keys()]);
        const one = openOf(batch, lines.length);
        for (const { id, isWithdrawn } of lines) if (isWithdrawn) one.unwanted.add(id);
        for (const item of waiting) if (group.has(item.id)) attach(item, one);
        log.info({ batch: batch.id, lines: lines.length }, "a batch was created at the provider");
      } catch (error) {
        if (!isRefusal(error)) throw error;
        for (const item of lines) item.settle({ refused: error });
      }
    }
  }

  /** Lines that another arm must answer now. */
  const lateOf = ({ items }: Open): Item[] => [...items].filter(({ deadline }) => clock() >= deadline - reserveMs);
  const giveUp = (one: Open, late: readonly Item[], reason: string): void => {
    for (const item of late) {
      one.unwanted.add(item.id);
      item.settle({ reason });
    }
  };

  async function look(one: Open): Promise<void> {
    const { id } = one.batch;
    one.lookAt = clock() + pollMs;
    const batch = (one.batch = await provider.look(id).catch((error: unknown) => {
      if (isMissing(error)) return { ...one.batch, isOpen: false, ended: "not found" };
      throw error;
    }));
    if (batch.isOpen) {
      // What a cancelled batch has answered counts, so late lines wait for it where all are late;
      // beside lines that have time they are given up, or one would cancel what others wait for.
      const late = lateOf(one);
      const isUnwanted = new Set([...one.unwanted, ...late.map((item) => item.id)]).size >= one.lines;
      if (isUnwanted || clock() >= batch.createdAt + timeoutMs) {
        if (batch.ended === "cancelling") return;
        log.info({ batch: id, lines: one.lines, isUnwanted }, "a batch is cancelled at the provider");
        await provider.cancel(id);
      } else giveUp(one, late, "too little time is left to wait for the batch");
      return;
    }
    if (batch.isVoid === true) {
      submitted.remove(id);
      open.delete(id);
      for (const item of one.items) {
        item.batch = undefined;
        waiting.add(item);
      }
      return;
    }
    const wanted = groupBy(one.items, (item) => item.id);
    if (wanted.size > 0)
      for await (const result of provider.results(batch))
        for (const item of wanted.get(result.id) ?? []) item.settle(result);
    for (const item of [...one.items]) item.settle({ reason: `the provider's batch ended: ${batch.ended}` });
    open.delete(id);
  }

  const away = (error: unknown): void =>
    log.warn({ reason: reasonOf(error) }, "the provider's batches can't be reached now; tried again");

  async function work(): Promise<void> {
    while (!closed.aborted && (waiting.size > 0 || open.size > 0)) {
      try {
        const [oldest] = waiting;
        const isFull = waiting.size >= mostLines;
        if (oldest !== undefined && clock() >= notBefore && (isFull || clock() >= oldest.since + collectMs)) {
          notBefore = clock() + collectMs;
          await submitWaiting();
          notBefore = 0;
        }
      } catch (error) {
        away(error);
        for (const item of waiting)
          if (clock() >= item.since + timeoutMs) item.settle({ reason: "the provider's batches could not be reached" });
      }
      for (const one of [...open.values()]) {
        if (clock() < one.lookAt) continue;
        await look(one).catch((error: unknown) => {
          away(error);
          giveUp(one, lateOf(one), "the provider's batches could not be reached");
        });
      }
      await sleep(Math.min(1_000, collectMs, pollMs), undefined, { signal: closed }).catch(() => undefined);
    }
    working = undefined;
  }

  return {
    /** null: the signal was aborted. withdrawn: no client waits; such batches are cancelled. */
    submit: (
      { id, body, deadline }: BatchLine & { deadline: number },
      signal: AbortSignal,
      withdrawn: () => boolean,
    ): Promise<BatchOutcome | null> =>
      new Promise((resolve) => {
        const end = (): void => {
          item.isWithdrawn = withdrawn();
          if (item.isWithdrawn) item.batch?.unwanted.add(item.id);
          item.settle(null);
        };
        const item: Item = {
          ...{ id, body, deadline, since: clock(), isWithdrawn: false },
          settle(outcome) {
            signal.removeEventListener("abort", end);
            waiting.delete(item);
            item.batch?.items.delete(item);
            resolve(outcome);
          },
        };
        if (signal.aborted || closed.aborted) return resolve(null);
        signal.addEventListener("abort", end, { once: true });
        waiting.add(item);
        working ??= work();
      }),
    close(): void {
      closing.abort();
      for (const item of [...waiting, ...[...open.values()].flatMap(({ items }) => [...items])]) item.settle(null);
    },
  };
}

/** Without the provider's own words, which may quote lines. */
const reasonOf = (error: unknown): string =>
  error instanceof APIError && error.status !== undefined ? `status ${error.status}` : messageOf(error);
