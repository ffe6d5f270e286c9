// The policy `placement`: whether processes hold all examples, and where which domain is whole.
// curate publishes, plan follows. Pure. At most `mostPlaces` pairs, and larger ones change less
// often.
import { z } from "zod";
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodePolicyBody, policyRecord, type PolicyProblem } from "./record.ts";

export const PLACEMENT = "placement";
const kind = "placement/1";

/** Pairs of domain and partition; what is seen beyond them stays incomplete. */
export const mostPairs = 50_000;

export type PlacementMode = "global" | "shared";

/** Partitions of examples by the offset from which a domain is whole; null: being filled. */
export type PlacedPartitions = Map<number, number | null>;

export interface Placement {
  mode: PlacementMode;
  /** Living examples when it was made. */
  count: number;
  domains: Map<string, PlacedPartitions>;
}

const bodySchema = z.object({
  mode: z.enum(["global", "shared"]),
  count: z.number(),
  domains: z.record(z.string(), z.record(z.string(), z.int().nullable())),
});

export const nothingPlaced = (): Placement => ({ mode: "global", count: 0, domains: new Map() });

export function encodePlacement({ mode, count, domains }: Placement, version: number, createdAt: number): Policy {
  const partitions = [...domains].map(([domain, offsets]) => [domain, Object.fromEntries(offsets)] as const);
  const all = [...domains.values()].flatMap((offsets) => [...offsets.values()]);
  return policyRecord({
    name: PLACEMENT,
    version,
    kind,
    body: JSON.stringify({ mode, count, domains: Object.fromEntries(partitions) }),
    metrics: {
      examples: count,
      domains: domains.size,
      pairs: all.length,
      whole: all.filter((offset) => offset !== null).length,
    },
    createdAt,
  });
}

/** What makes no sense is a problem; the caller stays with what it had. */
export function decodePlacement(policy: Policy): Placement | PolicyProblem {
  const decoded = decodePolicyBody(policy, bodySchema, { name: PLACEMENT, kind });
  if ("problem" in decoded) return decoded;
  const { mode, count, domains } = decoded.body;
  const partitionsOf = (offsets: Record<string, number | null>): PlacedPartitions =>
    new Map(Object.entries(offsets).map(([partition, offset]) => [Number(partition), offset]));
  return {
    mode,
    count,
    domains: new Map(Object.entries(domains).map(([domain, partitions]) => [domain, partitionsOf(partitions)])),
  };
}

/** The newest placement that this process can use, fed by the topic `policies`. */
export interface PlacementTable {
  /** Takes a record of the topic; others than the placement are not ours. */
  apply(record: Policy): void;
  /** A tombstone: nothing is placed, every process holds all examples. */
  remove(name: string): void;
  current(): Placement;
  /** Whether a domain is whole on a partition read up to here; undefined: not followed. */
  isComplete(domain: string, partition: number, position: number | undefined): boolean;
}

/** onChange: after every change; onProblem: a version that can't be used. */
export function createPlacementTable(
  onChange: (now: Placement) => void,
  onProblem: (problem: string) => void,
): PlacementTable {
  const newest = createNewest(decodePlacement, nothingPlaced());
  const current = (): Placement => newest.current().value;
  return {
    apply(record) {
      if (record.name !== PLACEMENT || !newest.apply(record)) return;
      const { value, problem } = newest.current();
      if (problem === null) onChange(value);
      else onProblem(problem);
    },
    remove(name) {
      if (name !== PLACEMENT) return;
      newest.remove();
      onChange(current());
    },
    current,
    isComplete(domain, partition, position) {
      const from = current().domains.get(domain)?.get(partition) ?? null;
      return from !== null && position !== undefined && position >= from;
    },
  };
}
