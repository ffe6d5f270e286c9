// Seeded values that no caller of an addon should give it, and the counting of what became of each
// call. Runs in a child process: a crash of it is a failed test.
import { createReadStream } from "node:fs";

export type Random = (below: number) => number;

/** Xorshift: the same calls for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(64);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

const resizable = (): ArrayBuffer => Reflect.construct(ArrayBuffer, [64, { maxByteLength: 4096 }]) as ArrayBuffer;

const makers: readonly (() => unknown)[] = [
  ...[undefined, null, true, NaN, Infinity, -Infinity, -1, 0, 0.5, 1, 7].map((value) => () => value),
  ...[2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 1e308, -1e308].map((value) => () => value),
  ...["", "x", "a\0b", "\ud800", "x".repeat(100_000), "/dev/zero", "/"].map((value) => () => value),
  ...[1n, Symbol("odd"), () => undefined].map((value) => () => value),
  () => ({}),
  () => [],
  () => [null, {}, 1],
  () => Object.assign([], { length: 2 ** 32 - 1 }),
  () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("from a trap");
        },
      },
    ),
  detached,
  () => new Uint8Array(0),
  () => new Uint8Array(4096).fill(255),
  () => new Uint8Array(resizable()),
  () => new Uint8Array(new SharedArrayBuffer(64)),
  () => new Float32Array(8).fill(NaN),
  () => new Float32Array(8).fill(3e38),
  () => new Float32Array(16),
  () => new Float64Array(8),
  () => new Int32Array(5000),
  () => Int32Array.of(-1, 2 ** 31 - 1, 0, 1, -(2 ** 31)),
  () => new Uint32Array(2),
  () => new Uint32Array(4).fill(2 ** 32 - 1),
  () => new DataView(new ArrayBuffer(8)),
  () => createReadStream,
];

export const oddValue = (random: Random): unknown => makers[random(makers.length)]!();

/** One argument in three calls is odd, or one is missing. */
export function spoil(random: Random, given: readonly unknown[]): unknown[] {
  const spoilt = [...given];
  if (random(3) > 0) return spoilt;
  if (random(8) === 0) return spoilt.slice(0, random(spoilt.length + 1));
  if (spoilt.length > 0) spoilt[random(spoilt.length)] = oddValue(random);
  return spoilt;
}

/** The same for a field of an object; a getter in place of the value may `interfere` meanwhile. */
export function spoilField<T extends object>(random: Random, given: T, interfere: () => void): T {
  if (random(3) > 0) return given;
  const keys = Object.keys(given);
  const key = keys[random(keys.length)]!;
  if (random(4) > 0) return { ...given, [key]: oddValue(random) };
  const value: unknown = Reflect.get(given, key);
  return Object.defineProperty({ ...given }, key, {
    enumerable: true,
    get: () => {
      interfere();
      return value;
    },
  });
}

/** Counts outcomes; every failure must be an Error that says something. */
export function createOutcomes() {
  const counts = { calls: 0, done: 0, refused: 0, speechless: 0 };
  const waiting = new Set<Promise<void>>();
  const refuse = (error: unknown): void => {
    counts.refused++;
    if (!(error instanceof Error) || error.message === "") counts.speechless++;
  };
  return {
    counts,
    /** Gives what the call resolved with, or undefined; waits only where many are under way. */
    async call<T>(work: () => T | Promise<T>, wait = false): Promise<T | undefined> {
      counts.calls++;
      let value: T | undefined;
      const settled = (async () => {
        value = await work();
        counts.done++;
      })().catch(refuse);
      const own = settled.finally(() => waiting.delete(own));
      waiting.add(own);
      if (wait || waiting.size > 16) await own;
      return value;
    },
    settle: () => Promise.all(waiting),
  };
}
