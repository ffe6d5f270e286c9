// Replicas by prefix: an added or removed replica moves only its own share, keys are spread evenly,
// and no replica exceeds the bound over the mean.
import { describe, expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { loadBound, rendezvousOrder, withinBound } from "./bounded-rendezvous.ts";

const names = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `http://10.0.0.${String(from + i)}:8000/v1`);
const keys = Array.from({ length: 2_000 }, (_, i) => `large\0t/default\0prefix ${String(i)}`);
const best = (key: string, among: readonly string[]): string => rendezvousOrder(key, among)[0] ?? "";

describe("rendezvous order", () => {
  it("is a permutation that does not depend on the order of the names", () => {
    const five = names(5);
    for (const key of keys.slice(0, 50)) {
      const order = rendezvousOrder(key, five);
      expect([...order].sort()).toEqual([...five].sort());
      expect(rendezvousOrder(key, [...five].reverse())).toEqual(order);
    }
  });

  it.each([2, 3, 8, 33])("gives each of %i its share of the keys, within a quarter or chance", (count) => {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(best(key, names(count)), (counts.get(best(key, names(count))) ?? 0) + 1);
    const mean = keys.length / count;
    for (const name of names(count))
      expect(Math.abs((counts.get(name) ?? 0) - mean)).toBeLessThan(Math.max(mean / 4, 5 * Math.sqrt(mean)));
  });

  it.each([1, 2, 3, 8])("moves keys only to one that comes to %i, and from it when it goes", (count) => {
    const before = names(count);
    const after = names(count + 1);
    const come = after.at(-1);
    let moved = 0;
    for (const key of keys) {
      const [old, now] = [best(key, before), best(key, after)];
      if (old === now) continue;
      expect(now).toBe(come);
      moved++;
    }
    const share = keys.length / (count + 1);
    expect(Math.abs(moved - share)).toBeLessThan(Math.max(share / 4, 5 * Math.sqrt(share)));
  });

  it("keeps the rest of the order when one goes, so that overflow goes where it went", () => {
    const five = names(5);
    for (const key of keys.slice(0, 200)) {
      const order = rendezvousOrder(key, five);
      for (const gone of five)
        expect(
          rendezvousOrder(
            key,
            five.filter((name) => name !== gone),
          ),
        ).toEqual(order.filter((name) => name !== gone));
    }
  });

  it("tells odd keys apart, and has nothing to order among none", () => {
    const odd = ["", "\0", "\ud800", "\ufffd", "a".repeat(1_000_000)];
    const orders = new Set(odd.map((key) => rendezvousOrder(key, names(8)).join()));
    expect(orders.size).toBeGreaterThanOrEqual(odd.length - 1); // a lone surrogate becomes U+FFFD
    expect(rendezvousOrder("key", [])).toEqual([]);
  });
});

describe("bounded loads", () => {
  it("takes the first while nothing is under way, and the next when it is too busy", () => {
    const three = ["a", "b", "c"];
    expect(withinBound(three, () => 0)).toBe("a");
    expect(withinBound(three, (name) => (name === "a" ? 9 : 3))).toBe("b");
    expect(withinBound(three, () => 7)).toBe("a");
    expect(withinBound([], () => 0)).toBeUndefined();
    expect(withinBound(["a"], () => 1_000_000)).toBe("a");
  });

  it.each([
    [2, 1],
    [3, loadBound],
    [7, loadBound],
    [16, 2],
  ])("none of %i gets more than %f times the mean, whatever keys come and however calls end", (count, c) => {
    const random = splitmix64(7n);
    const all = names(count);
    const loads = new Map(all.map((name) => [name, 0]));
    const open: string[] = [];
    for (let i = 0; i < 3_000; i++) {
      // A third of the keys are the same.
      const key = random() < 1 / 3 ? "hot" : (keys[Math.floor(random() * keys.length)] ?? "");
      const chosen = withinBound(rendezvousOrder(key, all), (name) => loads.get(name) ?? 0, c) ?? "";
      loads.set(chosen, (loads.get(chosen) ?? 0) + 1);
      open.push(chosen);
      expect(loads.get(chosen)).toBeLessThanOrEqual(Math.ceil((c * open.length) / count));
      while (open.length > 40 || (open.length > 0 && random() < 0.4)) {
        const [ended = ""] = open.splice(Math.floor(random() * open.length), 1);
        loads.set(ended, (loads.get(ended) ?? 0) - 1);
      }
    }
  });

  it("holds the bound among the others where one reports far more", () => {
    const loads = new Map([
      ["stuck", 1_000_000],
      ["a", 6],
      ["b", 0],
    ]);
    expect(withinBound(["stuck", "a", "b"], (name) => loads.get(name) ?? 0)).toBe("b");
  });

  it("chooses one whatever the loads are", () => {
    for (const odd of [NaN, Infinity, -Infinity, -5, Number.MAX_VALUE, 0.3])
      expect(["a", "b"]).toContain(withinBound(["a", "b"], (name) => (name === "a" ? odd : 1)));
    expect(withinBound(["a", "b"], (name) => (name === "a" ? NaN : 1))).toBe("b");
    expect(["a", "b"]).toContain(withinBound(["a", "b"], () => Infinity));
  });
});
