import fc from "fast-check";
import { expect, it } from "vitest";
import { candidates, createLinkedChoice, type PastSample } from "./choice.ts";

const sample = (policy: string, kl: number, recomputedShare: number) => ({
  ...{ requestId: "r", tenant: "t", policy, kl, recomputedShare, agreement: 1 },
});

const request = (requestId: string) => ({ requestId, tenant: "t" });

it("takes the arm's policy, and what a request asks for before it", () => {
  const choice = createLinkedChoice({ policy: "last-1", sampleShare: 1, maxKl: 0.1 }, () => 0);
  expect(choice.policy(null)).toBe("last-1");
  expect(choice.policy("full")).toBe("full");
  expect(choice.compare(request("r"), "last-1")).toEqual({ ...request("r"), policies: ["last-1"] });
  expect(choice.compare(request("r"), "full")).toEqual({ ...request("r"), policies: [] });
});

it("auto keeps the quality until something cheaper has proved itself", () => {
  const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl: 0.1 }, () => 0);
  expect(choice.policy(null)).toBe("last-2");
  expect(choice.compare(request("r"), "last-2")?.policies).toEqual([...candidates]);
  for (let i = 0; i < 30; i++) {
    choice.add(sample("naive", 0.3, 0));
    choice.add(sample("last-1", 0.05, 0.1));
    choice.add(sample("last-2", 0.04, 0.2));
  }
  expect(choice.policy(null)).toBe("last-1");
});

it("compares its share of the requests", () => {
  const draws = [0.005, 0.02];
  const choice = createLinkedChoice({ policy: "last-2", sampleShare: 0.01, maxKl: 0.1 }, () => draws.shift() ?? 1);
  expect([choice.compare(request("a"), "last-2"), choice.compare(request("b"), "last-2")]).toEqual([
    { ...request("a"), policies: ["last-2"] },
    null,
  ]);
});

const auto = () => createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl: 0.1 }, () => 0);
const past = (policy: string, count: number, kl: number, recomputedShare: number): PastSample[] =>
  Array.from({ length: count }, (_, i) => ({ requestId: `${policy} ${i}`, policy, kl, recomputedShare }));

it("goes by what was measured before it was started, and says by which figures", () => {
  const choice = auto();
  expect(choice.chosen()).toEqual({ policy: "last-2", record: null });
  choice.restore([...past("naive", 30, 0.3, 0), ...past("last-1", 30, 0.05, 0.1)]);
  expect(choice.policy(null)).toBe("last-1");
  expect(choice.chosen()).toMatchObject({ policy: "last-1", record: { share: expect.closeTo(0.1, 9) } });
  // Another curve, or the same gone bad, takes its place and does not mix with it.
  choice.restore(past("last-1", 30, 0.5, 0.1));
  expect(choice.policy(null)).toBe("last-2");
  const set = createLinkedChoice({ policy: "last-1", sampleShare: 1, maxKl: 0.1 }, () => 0);
  expect(set.chosen()).toBe(null);
});

it("keeps its own samples until they are read back, and drops lost ones after some readings", () => {
  const own = past("last-1", 25, 0.02, 0.1);
  const choice = auto();
  for (const one of own) choice.add(one);
  choice.restore([]);
  expect(choice.chosen()).toMatchObject({ policy: "last-1", record: { kl: expect.closeTo(0.02, 9) } });
  const weight = choice.chosen()!.record!.weight;
  choice.restore(own);
  // Not counted twice.
  expect(choice.chosen()!.record!.weight).toBeCloseTo(weight, 9);
  const other = auto();
  for (const one of own) other.add(one);
  for (let i = 0; i < 11; i++) other.restore([]);
  expect(other.chosen()!.record).toBe(null);
});

it("is the same in all processes that read the same samples", () => {
  const drawn = fc.array(
    fc.record({
      policy: fc.constantFrom<string>(...candidates),
      kl: fc.double({ min: 0, max: 0.3, noNaN: true }),
      recomputedShare: fc.double({ min: 0, max: 1, noNaN: true }),
      process: fc.nat(2),
    }),
    { minLength: 60, maxLength: 300 },
  );
  fc.assert(
    fc.property(drawn, (samples) => {
      const processes = [auto(), auto(), auto()];
      const all = samples.map((one, i) => ({ ...one, requestId: `r${i}` }));
      for (const one of all) processes[one.process]!.add(one);
      for (const one of processes) one.restore(all);
      const restarted = auto();
      restarted.restore(all);
      for (const one of processes) expect(one.chosen()).toEqual(restarted.chosen());
    }),
    { numRuns: 50 },
  );
});
