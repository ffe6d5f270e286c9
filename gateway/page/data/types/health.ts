// What runs, how far it is behind, and the replicas of arms.

export interface StageLag {
  stage: string;
  /** Its processes. */
  members: number;
  /** "": it has no positions, as the gateway, learn and curate. */
  topic: string;
  /** Records behind its position, control markers of transactions included; null: never read. */
  lag: number | null;
}

export interface Health {
  stages: StageLag[];
  /** Partitions that an open transaction keeps from readers. */
  stuck: { topic: string; partition: number; since: number }[];
  /** Arms whose breaker is not closed, in a process. */
  breakers: { arm: string; state: string; instance: string }[];
  replicas: Replica[];
  /** Unfinished requests over slots, engines' own figures included; arms that are known so far. */
  load: { arm: string; load: number }[];
  tables: { table: string; newest: number | null; lastHour: number }[];
  /** Dead letters of the last week, by reason. */
  deadLetters: { topic: string; stage: string; code: string; reason: string; count: number; newest: number }[];
  problems: string[];
}

/** An endpoint of an arm, over the processes that called the arm in the last half minute. */
export interface Replica {
  arm: string;
  /** Its address. */
  name: string;
  processes: number;
  /** Those whose breaker of it is not closed. */
  without: number;
  /** Calls of all processes under way. */
  calls: number;
  /** As its engine reports; null: it does not. cacheUsage: used share of its KV cache, 0 to 1. */
  running: number | null;
  waiting: number | null;
  cacheUsage: number | null;
}
