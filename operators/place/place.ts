// The third verb of curate: while there are more examples than a process should hold, sees to it that a domain's examples lie on every partition
// of `examples` whose number its requests come from, and says in the policy `placement` from which offset on they are all there.
// A pair of domain and partition that is new is first written down as being filled, then everything that happens to the domain's examples is
// copied there too (mirror.ts), then what ClickHouse has of them is: in this order nothing falls between. An old state can't be filled in behind
// a newer copy, because filling waits until ClickHouse has what the mirror has copied, and never writes to the home of a key.
import type { Logger } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Kafka, OutgoingMessage } from "../../connections/kafka/port.ts";
import type { Example } from "../../schemas/types.ts";
import type { PolicyLog } from "../publish/policy-log.ts";
import { copyHeader, createMirror, publishInParts, type Mirror, type MirrorDependencies } from "./mirror.ts";
import { decodePlacement, encodePlacement, mostPlaces, nothingPlaced, type Placement } from "./placement.ts";
import type { Pair } from "./seen.ts";
import { countExamples, storedExamples, type StoredExample } from "./stored.ts";

export interface PlaceRules {
  /** auto: shared above so many examples, global again below four fifths of them. */
  pool: "auto" | "global" | "shared";
  shareAbove: number;
  /** Milliseconds between two counts. */
  countEveryMs: number;
}

export interface PlaceDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  kafka: Pick<Kafka, "followTopic" | "spans" | "lag" | "partitionOf">;
  /** Full name of examples. */
  topic: string;
  /** Groups: with which the mirror's positions are committed, and which records the topic into ClickHouse. */
  groups: { own: string; record: string };
  /** Pairs seen lately. */
  seen(partitions: number): Promise<Pair[]>;
  encode(example: Example): Buffer;
  /** Of the name `placement`. */
  policies: Pick<PolicyLog, "open" | "newest" | "append">;
  publish: MirrorDependencies["publish"];
  rules: PlaceRules;
  /** Milliseconds since the epoch. */
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
}

export interface Placed {
  mode: Placement["mode"];
  /** Pairs that became whole. */
  placed: number;
  /** Messages written. */
  copied: number;
  more: boolean;
}

export interface Place {
  pass(): Promise<Placed>;
  stop(): Promise<void>;
}

/** Examples filled in a pass, and of one query; a domain counts as at least ten. */
const fill = { atOnce: 2_000, page: 200, domain: 10 };
/** Larger bodies are published more rarely: so many bytes a second, and the first few at once. */
const body = { bytesPerSecond: 20_000, free: 20_000 };
/** So small a share of pairs may still be filled when processes let go of what is not theirs. */
const openShare = 0.05;

export function createPlace(dependencies: PlaceDependencies): Place {
  const { clickhouse, kafka, topic, groups, policies, publish, rules, clock, log } = dependencies;
  let placement: Placement | undefined;
  let mirror: Mirror | undefined;
  let partitions = 0;
  let countedAt = -Infinity;
  let mayPublishAt = 0;
  /** Something has changed since the last version; `undeclared`: pairs whose filling it does not announce yet. */
  let unpublished = false;
  let undeclared = false;
  /** Domains with a pair that is not whole, and how far each is filled. */
  const unfilled = new Map<string, { partitions: number[]; after: string } | null>();

  const open = async (): Promise<Placement> => {
    if (placement !== undefined) return placement;
    await policies.open();
    const newest = policies.newest();
    const known = newest === null ? nothingPlaced() : decodePlacement(newest);
    if ("problem" in known) log.warn({ problem: known.problem }, "what was placed is not known: it is placed anew");
    placement = "problem" in known ? nothingPlaced() : known;
    for (const [domain, places] of placement.domains)
      if ([...places.values()].includes(null)) unfilled.set(domain, null);
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

  /** New pairs, as being filled. */
  const discover = async (now: Placement): Promise<void> => {
    if (clock() < mayPublishAt) return;
    let known = pairsOf(now);
    let left = 0;
    for (const { domain, partition } of await dependencies.seen(partitions)) {
      const places = now.domains.get(domain) ?? new Map<number, number | null>();
      if (places.has(partition)) continue;
      if (known >= mostPlaces) left++;
      else {
        known++;
        now.domains.set(domain, places.set(partition, null));
        if (!unfilled.has(domain)) unfilled.set(domain, null);
        unpublished = true;
        undeclared = true;
      }
    }
    if (left > 0)
      log.warn({ pairs: left, most: mostPlaces }, "no room for more domains in the placement: theirs stay incomplete");
  };

  /** Whether ClickHouse knows everything that was copied. */
  const isRecorded = async (copies: Mirror): Promise<boolean> => {
    const recorded = await kafka.lag(groups.record, topic);
    return recorded.every(({ partition, committed }) => (committed ?? 0) >= copies.position(partition));
  };

  const copiesOf = ({ example, timestamp }: StoredExample, targets: readonly number[]): OutgoingMessage[] => {
    const key = `${example.domain}/${example.id}`;
    const home = kafka.partitionOf(key, partitions);
    const value = dependencies.encode(example);
    return targets
      .filter((partition) => partition !== home)
      .map((partition) => ({ topic, key, value, partition, timestamp, headers: { [copyHeader]: "1" } }));
  };

  const fillUp = async (now: Placement): Promise<{ filled: Pair[]; copied: number; more: boolean }> => {
    const filled: Pair[] = [];
    let copied = 0;
    let budget = fill.atOnce;
    for (const [domain, begun] of unfilled) {
      if (budget <= 0) break;
      const places = now.domains.get(domain) ?? new Map<number, number | null>();
      const open = [...places].flatMap(([partition, offset]) => (offset === null ? [partition] : []));
      const job = begun ?? { partitions: open, after: "" };
      unfilled.set(domain, job);
      for (let done = false; !done && budget > 0;) {
        dependencies.signal.throwIfAborted();
        const { examples, upTo } = await storedExamples(clickhouse, domain, job.after, fill.page);
        const messages = examples.flatMap((stored) => copiesOf(stored, job.partitions));
        await publishInParts(messages, [], publish);
        copied += messages.length;
        budget -= Math.max(examples.length, fill.domain);
        if (upTo !== null) job.after = upTo;
        else {
          done = true;
          filled.push(...job.partitions.map((partition) => ({ domain, partition })));
          // Others of its partitions were seen meanwhile: they come next.
          if (open.length > job.partitions.length) unfilled.set(domain, null);
          else unfilled.delete(domain);
        }
      }
    }
    return { filled, copied, more: unfilled.size > 0 };
  };

  const mark = async (now: Placement, filled: readonly Pair[]): Promise<void> => {
    if (filled.length === 0) return;
    const ends = new Map((await kafka.spans(topic)).map(({ partition, end }) => [partition, end]));
    for (const { domain, partition } of filled) now.domains.get(domain)?.set(partition, ends.get(partition) ?? 0);
    unpublished = true;
  };

  return {
    async pass() {
      const now = await open();
      const aim = await wanted(now);
      if (aim === "global" && now.mode === "global" && now.domains.size === 0)
        return { mode: "global", placed: 0, copied: 0, more: false };
      if (mirror === undefined) {
        partitions = (await kafka.spans(topic)).length;
        mirror = await createMirror({ kafka, topic, group: groups.own, publish }, now.domains.size === 0);
      }
      if (aim === "shared") await discover(now);
      // Written down before anything is copied there: whoever comes after us goes on copying.
      await announce(now);
      const mirrored = await mirror.copy((domain) => now.domains.get(domain)?.keys() ?? []);
      const fills = aim === "shared" && !undeclared && unfilled.size > 0 && (await isRecorded(mirror));
      const { filled, copied, more } = fills ? await fillUp(now) : { filled: [], copied: 0, more: false };
      await mark(now, filled);
      if (aim !== now.mode && (aim === "global" || unfilled.size <= openShare * pairsOf(now))) {
        log.info({ from: now.mode, to: aim, examples: now.count }, "the examples are held otherwise from now on");
        now.mode = aim;
        unpublished = true;
      }
      await announce(now);
      return {
        mode: now.mode,
        placed: filled.length,
        copied: mirrored.copied + copied,
        more: more || mirrored.more,
      };
    },
    async stop() {
      await mirror?.stop();
    },
  };
}

const pairsOf = ({ domains }: Placement): number => [...domains.values()].reduce((sum, places) => sum + places.size, 0);
