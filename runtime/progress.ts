// Whether a stage gets on, by partition, every second: not adopted, finished but not committed,
// waiting without work, or not fetched are stalls after a while. Records under way may take as long
// as the slowest request.
import type { Logger } from "pino";
import { messageOf } from "../connections/errors.ts";
import type { PartitionEnds, PartitionProgress, TopicPartition } from "../connections/kafka/port.ts";
import { remedyOf } from "../connections/security/errors.ts";
import { partitionKey } from "./partition.ts";
import type { Window } from "./window.ts";

export interface ProgressLimits {
  stalledAfterMs: number;
  slowestMs: number;
}

export interface ProgressOptions extends ProgressLimits {
  assigned: () => readonly TopicPartition[];
  progress: (topic: string, partition: number) => PartitionProgress | undefined;
  /** In place of what is said of a kind otherwise. */
  remedies?: Partial<Record<Kind, string>>;
  ends: (topic: string) => Promise<PartitionEnds[]>;
  /** Called with every high watermark that was asked for. */
  onEnd?: (topic: string, partition: number, high: number) => void;
  log: Logger;
  now?: () => number;
}

export type Progress = ReturnType<typeof watchProgress>;

/** What a stage says about itself because of it. */
export function reportOf(progress: Progress): { stalledMs?: number; problems?: string[] } {
  const [stalledMs, problems] = [progress.stalledMs(), progress.problems()];
  return { ...(stalledMs > 0 ? { stalledMs } : {}), ...(problems.length > 0 ? { problems } : {}) };
}

const lookMs = 1_000;

export type Kind = "away" | "unadopted" | "uncommitted" | "unstarted" | "unfetched" | "held" | "running";

const describe: Readonly<Record<Kind, string>> = {
  away: "the broker does not answer: see that it runs and can be reached",
  unadopted: "assigned, but its position can't be read or its state not restored: the log says what it waits for",
  uncommitted: "records are finished and can't be committed: see the broker, and the log for why transactions fail",
  unstarted: "records wait and none is begun: a bug, restart this process and report it",
  unfetched: "records wait in the broker and none comes: see the broker and the log, then restart this process",
  held: "a transaction that is open on it keeps its records from readers: precedent doctor tells whose",
  running: "a record has been under way for longer than any request may take: restart this process",
};

interface Watched {
  /** Changes with everything that is committed. */
  reached: string;
  since: Partial<Record<Kind, number>>;
  /** What the broker said last of the next offset, and since when. */
  behind?: { next: number; kind: "unfetched" | "held"; since: number };
}

export function watchProgress({ assigned, progress, ends, onEnd, log, ...options }: ProgressOptions) {
  const remedies = { ...describe, ...options.remedies };
  const { stalledAfterMs, slowestMs, now = Date.now } = options;
  const watched = new Map<string, Watched>();
  const askMs = Math.max(lookMs, Math.min(15_000, stalledAfterMs / 4));
  let answeredAt = now();
  /** Why the last question got no answer, where the broker has refused us. */
  let refusal: string | undefined;
  let asking: Promise<void> | undefined;

  const kindsOf = (key: string, at: TopicPartition, anyRunning: boolean): Kind[] => {
    const held = progress(at.topic, at.partition);
    if (held === undefined) return ["unadopted"];
    const { uncommitted, running, unstarted, next } = held;
    const kinds: Kind[] = [];
    if (uncommitted > 0) kinds.push("uncommitted");
    if (running > 0) kinds.push("running");
    if (unstarted > 0 && !anyRunning) kinds.push("unstarted");
    const behind = watched.get(key)?.behind;
    if (kinds.length === 0 && behind?.next === next) kinds.push(behind.kind);
    return kinds;
  };

  const look = (): void => {
    const time = now();
    const partitions = assigned();
    const keys = new Set(partitions.map(partitionKey));
    for (const key of watched.keys()) if (!keys.has(key)) watched.delete(key);
    const anyRunning = partitions.some(({ topic, partition }) => (progress(topic, partition)?.running ?? 0) > 0);
    for (const at of partitions) {
      const key = partitionKey(at);
      const entry: Watched = watched.get(key) ?? { reached: "", since: {} };
      watched.set(key, entry);
      const held = progress(at.topic, at.partition);
      const reached = held === undefined ? "" : `${held.committed}/${held.finished}`;
      const moved = reached !== entry.reached;
      entry.reached = reached;
      const former = moved ? {} : entry.since;
      entry.since = Object.fromEntries(
        kindsOf(key, at, anyRunning).map((kind) => [
          kind,
          kind === entry.behind?.kind ? entry.behind.since : (former[kind] ?? time),
        ]),
      );
    }
  };

  const askOf = async (topic: string): Promise<void> => {
    const found = await ends(topic);
    answeredAt = now();
    for (const { partition, stable, high } of found) {
      onEnd?.(topic, partition, high);
      const entry = watched.get(partitionKey({ topic, partition }));
      const next = progress(topic, partition)?.next;
      if (entry === undefined || next === undefined) continue;
      // A transaction that was open only now is over at the next question.
      const since = entry.behind?.next === next ? entry.behind.since : now();
      if (next < high) entry.behind = { next, kind: stable <= next ? "held" : "unfetched", since };
      else delete entry.behind;
    }
  };

  /** Asks for the ends; by itself every few seconds. */
  const ask = (): Promise<void> => {
    if (assigned().length === 0) answeredAt = now(); // nothing to ask for
    asking ??= (async () => {
      try {
        const topics = [...new Set(assigned().map((at) => at.topic))];
        await Promise.all(topics.map(askOf));
        refusal = undefined;
      } catch (error) {
        const remedy = remedyOf(error);
        refusal = remedy && `${messageOf(error)}; ${remedy}`;
        log.debug({ err: error }, "the ends of the input are not known now");
      } finally {
        asking = undefined;
      }
    })();
    return asking;
  };

  /** Every stall with the time beyond what is legal for its kind. */
  const stalls = (): { kind: Kind; partition?: string; since: number; ms: number }[] => {
    const time = now();
    const found = [...watched].flatMap(([partition, { since }]) =>
      Object.entries(since).map(([name, began]) => {
        const kind = name as Kind;
        return { kind, partition, since: began, ms: time - began - (kind === "running" ? slowestMs : 0) };
      }),
    );
    const silent = time - answeredAt;
    // Between two questions silence says nothing.
    const away = silent > 2 * askMs && watched.size > 0;
    return [...found, ...(away ? [{ kind: "away" as const, since: answeredAt, ms: silent }] : [])];
  };

  const timers = [setInterval(look, lookMs), setInterval(() => void ask(), askMs)];
  for (const timer of timers) timer.unref();

  return {
    look,
    ask,
    /** Longest stall beyond what is legal for its kind so far; 0: none. */
    stalledMs: (): number => Math.max(0, ...stalls().map(({ ms }) => ms)),
    /** Stalls beyond the limit, each with its partitions, since when, and what to do. */
    problems(): string[] {
      const over = stalls().filter(({ ms }) => ms > stalledAfterMs);
      return [...new Set(over.map(({ kind }) => kind))].map((kind) => {
        const those = over.filter((stall) => stall.kind === kind);
        const since = Math.min(...those.map((stall) => stall.since));
        const partitions = those.flatMap(({ partition }) => partition ?? []);
        const what = (kind === "away" ? refusal : undefined) ?? remedies[kind];
        return describeStall(partitions, since, now(), what);
      });
    },
    stop(): void {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** One line: where, since when, and what to do. */
export function describeStall(where: readonly string[], since: number, time: number, what: string): string {
  const listed = where.slice(0, 8).join(", ") + (where.length > 8 ? ` and ${where.length - 8} more` : "");
  const began = `for ${Math.round((time - since) / 1000)} s (since ${new Date(since).toISOString()})`;
  return `${listed === "" ? "" : `${listed}: `}no progress ${began}: ${what}`;
}

/** Progress of a partition with a window of records that finish in any order. */
export function progressOf(held: { window: Window<unknown>; committed: number }): PartitionProgress {
  const counts = { finished: 0, uncommitted: 0, running: 0, unstarted: 0 };
  for (const { state } of held.window.entries()) {
    if (state === "committed") counts.finished++;
    else if (state === "done") counts.uncommitted++;
    else if (state === "running") counts.running++;
    else counts.unstarted++;
  }
  return { ...counts, committed: held.committed, next: held.window.next() };
}
