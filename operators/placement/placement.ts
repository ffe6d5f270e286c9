// Placement of examples, a step of curate. With more examples than a process should hold, a
// domain's examples lie on every partition whose number its requests come from; the policy
// `placement` says from which offset they are complete. A new pair is declared, then mirrored
// (mirror.ts), then filled from what ClickHouse has: in this order nothing falls between.
import type { Logger } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Kafka } from "../../connections/kafka/port.ts";
import type { Example } from "../../schemas/types.ts";
import type { PolicyLog } from "../../state/policies/log.ts";
import { createFill } from "./fill.ts";
import { createMirror, type Mirror, type MirrorDependencies } from "./mirror.ts";
import {
  decodePlacement,
  encodePlacement,
  mostPairs,
  nothingPlaced,
  type Placement,
} from "../../state/policies/placement.ts";
import type { Pair } from "./seen.ts";
import { countExamples } from "./stored.ts";

export interface PlacementRules {
  /** auto: shared above so many examples, global again below four fifths of them. */
  pool: "auto" | "global" | "shared";
  shareAbove: number;
  countEveryMs: number;
}

export interface PlacementDependencies<T extends string = string> {
  clickhouse: Pick<ClickHouse, "query">;
  kafka: Pick<Kafka<never, T, never>, "followTopic" | "spans" | "lag" | "origins" | "partitionOf">;
  topic: T;
  /** Groups that commit the mirror's positions, and that record the topic. */
  groups: { own: string; record: string };
  seen(partitions: number): Promise<Pair[]>;
  encode(example: Example): Buffer;
  policies: Pick<PolicyLog, "open" | "newest" | "append">;
  publish: MirrorDependencies<T>["publish"];
  rules: PlacementRules;
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
}

export interface Placed {
  mode: Placement["mode"];
  placed: number;
  copied: number;
  more: boolean;
}

export interface Placer {
  pass(): Promise<Placed>;
  /** Partitions with copies of a domain's examples; none before the first pass. */
  partitionsOf(domain: string): Iterable<number>;
  stop(): Promise<void>;
}

/** Larger bodies are published more rarely: so many bytes a second, and the first few at once. */
const body = { bytesPerSecond: 20_000, free: 20_000 };
/** So small a share of pairs may still be filled when processes let go of what is not theirs. */
const openShare = 0.05;

export function createPlacer<T extends string>(dependencies: PlacementDependencies<T>): Placer {
  const { clickhouse, kafka, topic, groups, policies, publish, rules, clock, log } = dependencies;
  let placement: Placement | undefined;
  let mirror: Mirror | undefined;
  let partitions = 0;
  let countedAt = -Infinity;
  let mayPublishAt = 0;
  /** Changed since the last version; undeclared: pairs not announced yet. */
  let unpublished = false;
  let undeclared = false;
  const fill = createFill(dependencies);

  const open = async (): Promise<Placement> => {
    if (placement !== undefined) return placement;
    await policies.open();
    const newest = policies.newest();
    const known = newest === null ? nothingPlaced() : decodePlacement(newest);
    if ("problem" in known) log.warn({ problem: known.problem }, "what was placed is not known: it is placed anew");
    placement = "problem" in known ? nothingPlaced() : known;
    for (const domain of placement.domains.keys())
      if (unfilledPartitions(placement, domain).length > 0) fill.add(domain);
    return placement;
  };

  const wanted = async (now: Placement): Promise<Placement["mode"]> => {
    if (clock() - countedAt >= rules.countEveryMs) {
      now.count = await countExamples(clickhouse);
      countedAt = clock();
    }
    if (rules.pool !== "auto") return rules.pool;
    const limit = now.mode === "shared" ? 0.8 * rules.shareAbove : rules.shareAbove;
    return now.count > limit ? "shared" : "global";
  };

  const announce = async (now: Placement): Promise<void> => {
    if (!unpublished || clock() < mayPublishAt) return;
    const { body: text } = await policies.append((version) => encodePlacement(now, version, clock()));
    unpublished = false;
    undeclared = false;
    mayPublishAt = clock() + (Math.max(0, text.length - body.free) / body.bytesPerSecond) * 1_000;
  };

  const discover = async (now: Placement): Promise<void> => {
    if (clock() < mayPublishAt) return;
    let known = pairsOf(now);
    let left = 0;
    for (const { domain, partition } of await dependencies.seen(partitions)) {
      const offsets = now.domains.get(domain) ?? new Map<number, number | null>();
      if (offsets.has(partition)) continue;
      if (known >= mostPairs) left++;
      else {
        known++;
        now.domains.set(domain, offsets.set(partition, null));
        fill.add(domain);
        unpublished = true;
        undeclared = true;
      }
    }
    if (left > 0)
      log.warn({ pairs: left, most: mostPairs }, "no room for more domains in the placement: theirs stay incomplete");
  };

  /** Whether ClickHouse knows everything that was copied. */
  const isRecorded = async (copies: Mirror): Promise<boolean> => {
    const recorded = await kafka.lag(groups.record, topic);
    return recorded.every(({ partition, committed }) => (committed ?? 0) >= copies.position(partition));
  };

  const mark = async (now: Placement, filled: readonly Pair[]): Promise<void> => {
    if (filled.length === 0) return;
    const spans = await kafka.spans(topic).catch((error: unknown) => {
      for (const { domain } of filled) fill.add(domain);
      throw error;
    });
    const ends = new Map(spans.map(({ partition, end }) => [partition, end]));
    for (const { domain, partition } of filled) {
      const end = ends.get(partition);
      // A partition without a report may be incomplete: it is filled again.
      if (end === undefined) fill.add(domain);
      else now.domains.get(domain)?.set(partition, end);
    }
    unpublished = true;
  };

  const partitionsOf = (domain: string): Iterable<number> => placement?.domains.get(domain)?.keys() ?? [];

  return {
    partitionsOf,
    async pass() {
      const now = await open();
      const aim = await wanted(now);
      if (aim === "global" && now.mode === "global" && now.domains.size === 0)
        return { mode: "global", placed: 0, copied: 0, more: false };
      if (mirror !== undefined && !(await mirror.isCurrent())) {
        log.error({ topic }, "the topic was made anew: what happens to examples is copied from its beginning");
        await mirror.stop();
        mirror = undefined;
      }
      if (mirror === undefined) {
        partitions = (await kafka.spans(topic)).length;
        mirror = await createMirror({ kafka, topic, group: groups.own, publish }, now.domains.size === 0);
      }
      if (aim === "shared") await discover(now);
      // Written down before anything is copied there: the next owner goes on copying.
      await announce(now);
      const mirrored = await mirror.copy(partitionsOf);
      const fills = aim === "shared" && !undeclared && fill.size() > 0 && (await isRecorded(mirror));
      const { filled, copied } = fills
        ? await fill.step((domain) => unfilledPartitions(now, domain), partitions)
        : { filled: [], copied: 0 };
      await mark(now, filled);
      if (aim !== now.mode && (aim === "global" || fill.size() <= openShare * pairsOf(now))) {
        log.info({ from: now.mode, to: aim, examples: now.count }, "the examples are held otherwise from now on");
        now.mode = aim;
        unpublished = true;
      }
      await announce(now);
      return {
        mode: now.mode,
        placed: filled.length,
        copied: mirrored.copied + copied,
        more: mirrored.more || (fills && fill.size() > 0),
      };
    },
    async stop() {
      await mirror?.stop();
    },
  };
}

const pairsOf = ({ domains }: Placement): number =>
  [...domains.values()].reduce((sum, offsets) => sum + offsets.size, 0);

const unfilledPartitions = ({ domains }: Placement, domain: string): number[] =>
  [...(domains.get(domain) ?? [])].flatMap(([partition, offset]) => (offset === null ? [partition] : []));
