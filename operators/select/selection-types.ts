// Types of selection's inputs and results (selection.ts).
import type { ExampleOrder } from "../../algorithms/selection/example-order.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { ReuseSettings } from "../../arms/reuse/settings.ts";
import type { Config } from "../../config/schema.ts";
import type { Documents } from "../../connections/documents/port.ts";
import type { ExampleSearch } from "../../state/examples/port.ts";
import type { CacheInventory } from "../../state/inventory/table.ts";
import type { PromptMemory } from "../../state/prefixes/prompt-memory.ts";
import type { Embedded, NearMiss } from "../flow.ts";
import type { Chosen } from "./choose.ts";
import type { RatingModel } from "./rate.ts";
import type { RoomyArm } from "./room.ts";

export interface SelectArm extends RoomyArm {
  name: string;
  model: string;
  cost: number;
  examples: boolean;
  /** Order of its examples; absent: the most helpful last. */
  order?: ExampleOrder;
  /** Settings of the arm that gives an example's answer as it is (reuse.ts). */
  reuse?: ReuseSettings | undefined;
}

export interface SelectionDependencies {
  pool: Pick<ExampleSearch, "nearest"> & Partial<Pick<ExampleSearch, "get">>;
  selection: SelectionConfig;
  arms: () => readonly SelectArm[];
  clock: () => number;
  random: Random;
  /** The model in force; null, the default: similarity is used. */
  helpfulnessModel?: () => RatingModel | null;
  /** tau for what the model predicts; 0.5 by default: neither helps nor hurts. */
  threshold?: () => number;
  /** Which tenants share examples; by default none do. */
  sharing?: SharedDomains;
  /** The documents that requests name: they take room from examples. By default there are none. */
  documents?: Documents;
  /** Rewarded uses of an example and their mean, [0, 1]; null: unknown. */
  outcomes?: (id: string) => { uses: number; outcome: number | null } | undefined;
  /** Which examples the arms have in their caches. By default nothing is known. */
  caches?: CacheInventory;
  /** Beginnings of recent prompts. Absent: none are kept. */
  memory?: Pick<PromptMemory, "longest" | "keptOf">;
}

export type SelectionConfig = Pick<
  Config["selection"],
  | "examples"
  | "candidates"
  | "minimumSimilarity"
  | "tokenBudget"
  | "nearDuplicate"
  | "explore"
  | "cachedBonus"
  | "prefixBonus"
>;

export type Asked = Pick<Embedded, "request" | "domain" | "question" | "embedding">;

export interface Selection {
  /** Choice of every arm; arms that are shown no examples have an empty one. */
  byArm: ReadonlyMap<string, Chosen>;
  /** Tokens that the examples of an arm may have; arms that are shown none are not in it. */
  budgets: ReadonlyMap<string, number>;
  candidates: number;
  /** tau in force, and the one tried instead. */
  threshold: number;
  exploredThreshold: number | null;
  /** Version of the helpfulness model that predicted; 0: similarity was used. */
  helpfulnessVersion: number;
  nearMiss: NearMiss | null;
  /** No index, popular examples only, or no helpfulness model. */
  degraded: ("examples" | "similarity" | "helpfulness")[];
}
