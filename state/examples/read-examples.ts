// Examples as searches find them, from the mapped store: similarities of many, then the texts of a
// few. Frequent ones are cached decoded, with their traits; a committed change drops the entries it
// touches.
import { LRUCache } from "lru-cache";
import { bytesOfTraits, type ExampleTraits, traitsOf } from "../../algorithms/selection/example-traits.ts";
import { dot, toUnitLength } from "../../algorithms/selection/embedding.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import type { Candidate, HeldExample } from "./port.ts";
import { decodeExample, decodeVector, slotOf } from "./records.ts";
import type { Damage } from "./upkeep.ts";

export interface ReadExamplesDependencies {
  layout: Pick<Layout, "vectors" | "examples">;
  ledger: Pick<Ledger, "header" | "onTouched">;
  onDamaged: (damage: Damage) => void;
  /** Bytes of all that is kept, estimated. */
  mostBytes?: number;
}

/** Shared by everyone who reads it: it is read-only. */
export interface ReadExample {
  readonly example: HeldExample;
  readonly vector: Float32Array;
  readonly traits: ExampleTraits | null;
  readonly expiresAt: number;
}

/** Some 7,000 examples of 600 characters with vectors of 384 numbers. */
export const bytesKept = 32 * 1024 * 1024;
const overheadBytes = 512;

/** Bytes of an example in memory with its vector, estimated. */
export const bytesHeld = ({
  example: { request, response },
  vector,
  traits = null,
}: Pick<Candidate, "example" | "vector" | "traits">): number =>
  2 * (request.length + response.length) + vector.byteLength + bytesOfTraits(traits) + overheadBytes;

/** What stands at (domain, key), or undefined: not there, expired at `now`, or damaged. */
export interface ReadExamples {
  /** Cosine with a query of unit length, to .0001. */
  similarity(domain: number, key: number, query: Float32Array, now: number): number | undefined;
  example(domain: number, key: number, now: number): ReadExample | undefined;
}

export function createReadExamples(dependencies: ReadExamplesDependencies): ReadExamples {
  const { layout, ledger, onDamaged, mostBytes = bytesKept } = dependencies;
  const { vectors, examples } = layout;
  const kept = new LRUCache<number, ReadExample>({
    maxSize: mostBytes,
    sizeCalculation: bytesHeld,
  });
  ledger.onTouched((touched) => {
    for (const [domain, keys] of touched) for (const key of keys.keys()) kept.delete(slotOf(domain, key));
  });

  /** Into `vector`, whose length halves left a little off 1; gives the expiry. */
  function readVector(slot: number, now: number, vector: Float32Array): number | undefined {
    const stored = vectors.getBinaryFast(slot);
    const expiresAt = stored && decodeVector(slot, stored, vector);
    if (expiresAt === null) onDamaged({ slot });
    return typeof expiresAt === "number" && expiresAt > now ? expiresAt : undefined;
  }
  function read(slot: number, key: number, now: number): ReadExample | undefined {
    const vector = new Float32Array(ledger.header.dimension);
    const expiresAt = readVector(slot, now, vector);
    if (expiresAt === undefined) return undefined;
    const text = examples.getBinaryFast(key);
    const example = text && decodeExample(key, text);
    if (example === null) onDamaged({ key });
    if (!example) return undefined;
    toUnitLength(vector);
    return { example, vector, traits: traitsOf(example, vector), expiresAt };
  }

  let scratch = new Float32Array(0);
  return {
    similarity(domain, key, query, now) {
      const slot = slotOf(domain, key);
      const known = kept.peek(slot);
      if (known !== undefined) return known.expiresAt > now ? dot(query, known.vector) : undefined;
      if (scratch.length !== query.length) scratch = new Float32Array(query.length);
      return readVector(slot, now, scratch) === undefined ? undefined : dot(query, scratch);
    },
    example(domain, key, now) {
      const slot = slotOf(domain, key);
      const known = kept.get(slot);
      if (known !== undefined) return known.expiresAt > now ? known : undefined;
      const made = read(slot, key, now);
      if (made !== undefined) kept.set(slot, made);
      return made;
    },
  };
}
