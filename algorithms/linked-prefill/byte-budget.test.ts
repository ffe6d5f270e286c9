import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { moveBytes, type Memory } from "./byte-budget.ts";

const options = { step: 10, margin: 1.2 };
const memory = (name: string, change: Partial<Memory> = {}): Memory => ({
  ...{ name, bytes: 100, floor: 20, gain: 0, loss: 0 },
  ...change,
});
const someMemories = fc
  .array(
    fc.record({
      bytes: fc.integer({ min: 0, max: 500 }),
      floor: fc.integer({ min: 0, max: 100 }),
      gain: fc.integer({ min: 0, max: 20 }),
      loss: fc.integer({ min: 0, max: 20 }),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((all) => all.map((one, index) => ({ name: String(index), ...one })));

describe("one budget of bytes", () => {
  it("moves a step from where it matters least to where it matters most", () => {
    const moved = moveBytes(
      [memory("a", { gain: 1, loss: 1 }), memory("b", { gain: 5, loss: 4 }), memory("c")],
      options,
    );
    expect(moved).toMatchObject({ from: "c", to: "b", saved: 5 });
    expect([...moved.bytes]).toEqual([
      ["a", 100],
      ["b", 110],
      ["c", 90],
    ]);
  });
  it("moves nothing for a gain that is hardly more than the loss, or below a floor", () => {
    expect(moveBytes([memory("a", { gain: 5 }), memory("b", { loss: 4.5 })], options).from).toBeNull();
    expect(moveBytes([memory("a", { gain: 5 }), memory("b", { bytes: 25 })], options).from).toBeNull();
  });
  it("keeps the sum, and every floor", () => {
    fc.assert(
      fc.property(someMemories, (memories) => {
        const { bytes } = moveBytes(memories, options);
        const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
        expect(sum(bytes.values())).toBe(sum(memories.map((one) => one.bytes)));
        for (const one of memories) {
          expect(bytes.get(one.name)).toBeGreaterThanOrEqual(Math.min(one.floor, one.bytes));
          expect(Math.abs(bytes.get(one.name)! - one.bytes)).toBeLessThanOrEqual(options.step);
        }
      }),
    );
  });
  it("moves towards what is worth more at the margin, by the most that one step can save", () => {
    fc.assert(
      fc.property(someMemories, (memories) => {
        const { from, to, saved } = moveBytes(memories, options);
        const pairs = memories
          .filter(({ bytes, floor }) => bytes - floor >= options.step)
          .flatMap((donor) => memories.filter((taker) => taker !== donor).map((taker) => ({ donor, taker })))
          .filter(({ donor, taker }) => taker.gain > options.margin * donor.loss);
        const most = Math.max(0, ...pairs.map(({ donor, taker }) => taker.gain - donor.loss));
        expect(saved).toBe(most);
        expect(from === null).toBe(most === 0);
        const byName = new Map(memories.map((one) => [one.name, one]));
        if (from !== null && to !== null) expect(byName.get(to)!.gain - byName.get(from)!.loss).toBe(most);
      }),
    );
  });
  it("never gives a memory less because it gains or loses more", () => {
    fc.assert(
      fc.property(someMemories, fc.nat(9), fc.nat(9), (memories, gain, loss) => {
        const [first, ...rest] = memories as [Memory, ...Memory[]];
        const more = { ...first, gain: first.gain + gain, loss: first.loss + loss };
        const before = moveBytes(memories, options).bytes.get(first.name)!;
        expect(moveBytes([more, ...rest], options).bytes.get(first.name)).toBeGreaterThanOrEqual(before);
      }),
    );
  });
  it("brings four memories to where their margins are alike, but for the step and the margin", () => {
    const worth: Record<string, number> = { answers: 2, examples: 1, small: 4, large: 3 };
    const split = new Map(Object.keys(worth).map((name) => [name, 250]));
    const value = (name: string, bytes: number): number => worth[name]! * Math.sqrt(bytes);
    const memories = () =>
      [...split].map(([name, bytes]) => ({
        ...{ name, bytes, floor: 20 },
        gain: value(name, bytes + 10) - value(name, bytes),
        loss: value(name, bytes) - value(name, bytes - 10),
      }));
    for (let moves = 0; ; moves++) {
      expect(moves).toBeLessThan(100);
      const { bytes, from } = moveBytes(memories(), options);
      if (from === null) break;
      for (const [name, now] of bytes) split.set(name, now);
    }
    // Without step and margin: as 16, 9, 4 and 1.
    expect([...split.values()].reduce((sum, one) => sum + one, 0)).toBe(1_000);
    expect([...split].sort(([, a], [, b]) => b - a).map(([name]) => name)).toEqual([
      ...["small", "large", "answers", "examples"],
    ]);
    for (const taker of memories())
      for (const donor of memories()) expect(taker.gain).toBeLessThanOrEqual(options.margin * donor.loss);
  });
  it("ends: a split from which nothing moves is found", () => {
    // Concave values, as the most valuable bytes are used first.
    const worth = { a: 4, b: 1 };
    let split = { a: 100, b: 300 };
    const value = (name: "a" | "b", bytes: number): number => worth[name] * Math.sqrt(bytes);
    let moves = 0;
    for (; moves < 100; moves++) {
      const memories = (["a", "b"] as const).map((name) => ({
        ...{ name, bytes: split[name], floor: 20 },
        gain: value(name, split[name] + 10) - value(name, split[name]),
        loss: value(name, split[name]) - value(name, split[name] - 10),
      }));
      const { bytes, from } = moveBytes(memories, options);
      if (from === null) break;
      split = { a: bytes.get("a")!, b: bytes.get("b")! };
    }
    expect(moves).toBeLessThan(40);
    expect(split.a).toBeGreaterThan(330);
  });
});
