// What a stage reads and writes, declared once beside its composition. `precedent topology` draws
// it; its types restrict the stage's Kafka and ClickHouse (state/session.ts).
import type { Topic, TopicName } from "../schemas/records.ts";

/** A topic by its name in schemas/records.ts, or ClickHouse. */
export type Store = TopicName | "ClickHouse";

export interface Declaration {
  readonly name: string;
  /** Topics that it consumes as a group; ClickHouse where it looks for work there. */
  readonly sources: readonly Store[];
  /** What it looks things up in: compacted topics that it follows, and ClickHouse. */
  readonly tables: readonly Store[];
  readonly outputs: readonly Store[];
  /** Topics that it writes outside of them: best effort, nothing depends on them. */
  readonly beside?: readonly TopicName[];
}

export interface StageDescription extends Declaration {
  readonly operators: readonly string[];
  /** It speaks for clients, by this protocol: what it writes, other clients may write as well. */
  readonly serves?: string;
}

/** The part of a declaration that says what may be reached; what is absent is nothing. */
export type Reached = Partial<Omit<Declaration, "name">>;

type Stores<D extends Reached, K extends keyof Reached> = D extends { readonly [P in K]: readonly (infer S)[] }
  ? S
  : never;
type Names<D extends Reached, K extends keyof Reached> = Extract<Stores<D, K>, TopicName>;

export type Consumed<D extends Reached> = Topic<Names<D, "sources"> | "locks">;
export type Held<D extends Reached> = Topic<Names<D, "tables">>;
export type Sent<D extends Reached> = Topic<Names<D, "outputs"> | Names<D, "beside">>;

export type ClickHouseUse<D extends Reached> =
  | ("ClickHouse" extends Stores<D, "sources"> | Stores<D, "tables"> ? "query" : never)
  | ("ClickHouse" extends Stores<D, "outputs"> ? "insert" | "insertLines" | "command" : never);
