import fc from "fast-check";
import { expect, it } from "vitest";
import { candidatesOf, createLinkedChoice, type PastSample } from "./choice.ts";

const sample = (policy: string, kl: number, recomputedShare: number) => ({
  ...{ requestId: "r", tenant: "t", policy, kl, recomputedShare, agreement: 1 },
});

const maxKl = { short: 0.1, long: 0.1 };
const request = (requestId: string) => ({ requestId, tenant: "t" });

it("takes the arm's policy, and what a request asks for before it", () => {
  const choice = createLinkedChoice({ policy: "last-1", sampleShare: 1, maxKl }, () => 0);
  expect(choice.policy(null)).toBe("last-1");
  expect(choice.policy("full")).toBe("full");
  expect(choice.compare(request("r"), "last-1")).toEqual({ ...request("r"), policies: ["last-1"] });
  expect(choice.compare(request("r"), "full")).toEqual({ ...request("r"), policies: [] });
});

it("leaves out what a request asks for where its caches have no scores to go by", () => {
  const options = { policy: "last-1", sampleShare: 1, maxKl };
  expect(createLinkedChoice(options, () => 0).policy("last-1+craft-0.3")).toBe("last-1");
  expect(createLinkedChoice({ ...options, policy: "auto" }, () => 0).policy("craft-1")).toContain("attnlink-4");
  expect(createLinkedChoice({ ...options, scored: true }, () => 0).policy("craft-1")).toBe("craft-1");
});

it("auto goes by what is known of each kind, and starts with what each is known to stand", () => {
  const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl }, () => 0);
  expect(choice.policy(null)).toBe("short:last-2,long:attnlink-4");
  expect(choice.policy("last-3")).toBe("last-3");
  expect(choice.compare(request("r"), "short:last-2,long:attnlink-4")?.policies).toEqual([
    ...candidatesOf(false),
    "short:last-2,long:attnlink-4",
  ]);
  for (let i = 0; i < 30; i++) {
    choice.add(sample("short:naive", 0.3, 0));
    choice.add(sample("short:last-1", 0.05, 0.1));
    choice.add(sample("short:last-2", 0.04, 0.2));
    // A prompt with both kinds says nothing of one.
    choice.add(sample("short:last-2,long:attnlink-4", 0.9, 0.1));
  }
  expect(choice.policy(null)).toBe("short:last-1,long:attnlink-4");
  for (let i = 0; i < 30; i++) choice.add(sample("long:naive", 0.01, 0));
  expect(choice.policy(null)).toBe("short:last-1,long:naive");
});

it("auto leaves a policy that turns out too bad for passages step by step, down to a full prefill", () => {
  const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl: { short: 0.1, long: 0.02 } }, () => 0);
  const bad = (policy: string): string => {
    for (let i = 0; i < 6; i++) choice.add(sample(`long:${policy}`, 0.7 + i / 100, 0.1));
    return choice.policy(null);
  };
  expect(["attnlink-4", "last-1+attnlink-16", "last-2"].map(bad)).toEqual([
    "short:last-2,long:last-1+attnlink-16",
    "short:last-2,long:last-2",
    "short:last-2,long:full",
  ]);
});

it("auto offers craft where caches are scored, and before it recomputes half of the passages", () => {
  const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl, scored: true }, () => 0);
  expect(choice.compare(request("r"), "x")?.policies).toEqual(expect.arrayContaining(["long:craft-0.3"]));
  for (let i = 0; i < 6; i++) choice.add(sample("long:attnlink-4", 0.7 + i / 100, 0.01));
  expect(choice.policy(null)).toBe("short:last-2,long:craft-0.3");
  for (let i = 0; i < 30; i++) choice.add(sample("long:craft-0.1", 0.02, 0.07));
  expect(choice.policy(null)).toBe("short:last-2,long:craft-0.1");
});

it("auto compares more requests until both kinds are known, but not for ever, and none where it may not", () => {
  const draws = (sampleShare: number) => createLinkedChoice({ policy: "auto", sampleShare, maxKl }, () => 0.2);
  const compared = (choice: ReturnType<typeof draws>) =>
    Array.from({ length: 500 }, () => choice.compare(request("r"), "x")).filter((one) => one !== null).length;
  const learning = draws(0.01);
  expect(compared(learning)).toBe(160);
  expect(compared(learning)).toBe(0);
  expect(compared(draws(0))).toBe(0);
  const known = draws(0.01);
  for (const name of ["short:last-1", "long:naive"]) for (let i = 0; i < 30; i++) known.add(sample(name, 0.01, 0.1));
  expect(compared(known)).toBe(0);
});

it("compares its share of the requests", () => {
  const draws = [0.005, 0.02];
  const choice = createLinkedChoice({ policy: "last-2", sampleShare: 0.01, maxKl }, () => draws.shift() ?? 1);
  expect([choice.compare(request("a"), "last-2"), choice.compare(request("b"), "last-2")]).toEqual([
    { ...request("a"), policies: ["last-2"] },
    null,
  ]);
});

const auto = () => createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl }, () => 0);
const past = (policy: string, count: number, kl: number, recomputedShare: number): PastSample[] =>
  Array.from({ length: count }, (_, i) => ({ requestId: `${policy} ${i}`, policy, kl, recomputedShare }));

it("goes by what was measured before it was started, and says by which figures", () => {
  const choice = auto();
  expect(choice.chosen()).toEqual([
    { kind: "short", policy: "last-2", record: null },
    { kind: "long", policy: "attnlink-4", record: null },
  ]);
  choice.restore([...past("short:naive", 30, 0.3, 0), ...past("short:last-1", 30, 0.05, 0.1)]);
  expect(choice.policy(null)).toBe("short:last-1,long:attnlink-4");
  expect(choice.chosen()[0]).toMatchObject({ policy: "last-1", record: { share: expect.closeTo(0.1, 9) } });
  // Another curve, or the same gone bad, takes its place and does not mix with it.
  choice.restore(past("short:last-1", 30, 0.5, 0.1));
  expect(choice.policy(null)).toBe("short:last-2,long:attnlink-4");
  const set = createLinkedChoice({ policy: "last-1", sampleShare: 1, maxKl }, () => 0);
  expect(set.chosen()).toEqual([]);
});

it("keeps its own samples until they are read back, and drops lost ones after some readings", () => {
  const own = past("short:last-1", 25, 0.02, 0.1);
  const choice = auto();
  for (const one of own) choice.add(one);
  choice.restore([]);
  expect(choice.chosen()[0]).toMatchObject({ policy: "last-1", record: { kl: expect.closeTo(0.02, 9) } });
  const weight = choice.chosen()[0]!.record!.weight;
  choice.restore(own);
  // Not counted twice.
  expect(choice.chosen()[0]!.record!.weight).toBeCloseTo(weight, 9);
  const other = auto();
  for (const one of own) other.add(one);
  for (let i = 0; i < 11; i++) other.restore([]);
  expect(other.chosen()[0]!.record).toBe(null);
});

it("is the same in all processes that read the same samples", () => {
  const drawn = fc.array(
    fc.record({
      policy: fc.constantFrom<string>(...candidatesOf(false)),
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
