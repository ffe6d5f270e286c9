import fc from "fast-check";
import { expect, it } from "vitest";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import { createBounded } from "./bounded.ts";
import { createPolicy } from "./create.ts";

const policies = { lecm: createLecm(), lec1: createLec1(), gdsf: createGdsf, lfu: createLfu, lru: createLru };
const made = [
  ...Object.values(policies).map((create) => () => createBounded(create, 60, { least: 10 })),
  ...(["adaptive", "vsocb", "lecm", "lru"] as const).map((name) => () => createPolicy(name, 60)),
];

it("every policy tells of all that leaves: who follows its decisions holds what it holds", () => {
  const step = fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 70 }), fc.boolean());
  for (const create of made)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const policy = create();
        const held = new Set<unknown>();
        for (const [id, size, answered] of steps) {
          for (const gone of policy.arrive(id).evicted) held.delete(gone);
          if (!answered) continue;
          const { admitted, evicted } = policy.answered(id, size, 1);
          if (admitted) held.add(id);
          else held.delete(id);
          for (const gone of evicted) held.delete(gone);
          expect(policy.used()).toBeLessThanOrEqual(60);
        }
        for (const id of held) expect(policy.has(id as number)).toBe(true);
        expect(policy.count()).toBe(held.size);
      }),
      { numRuns: 40 },
    );
});

it("every policy may be made smaller and larger, and never holds more than it may", () => {
  const step = fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 70 }), fc.option(fc.integer({ min: 0, max: 120 })));
  for (const create of made)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const policy = create();
        const held = new Set<unknown>();
        let capacity = 60;
        for (const [id, size, resized] of steps) {
          for (const gone of policy.arrive(id).evicted) held.delete(gone);
          const { admitted, evicted } = policy.answered(id, size, 1);
          if (admitted) held.add(id);
          else held.delete(id);
          for (const gone of evicted) held.delete(gone);
          if (resized !== null) for (const gone of policy.resize((capacity = resized))) held.delete(gone);
          expect(policy.used()).toBeLessThanOrEqual(capacity);
          expect(policy.count()).toBe(held.size);
        }
        for (const id of held) expect(policy.has(id as number)).toBe(true);
      }),
      { numRuns: 40 },
    );
});

it("drops entries that have grown too large when it renews its policy", () => {
  const policy = createBounded(createLru, 10, { least: 4, outsidePerEntry: 1 });
  policy.arrive("grown");
  expect(policy.answered("grown", 5, 1).admitted).toBe(true);
  policy.arrive("grown");
  expect(policy.answered("grown", 11, 1).admitted).toBe(false);
  for (let i = 0; i < 10; i++) policy.arrive(i);
  expect(policy.count()).toBe(0);
  expect(policy.used()).toBe(0);
});

it("forgets ids that it does not hold, and keeps what it holds", () => {
  const policy = createBounded(createLru, 10, { least: 20, outsidePerEntry: 2 });
  policy.arrive("kept");
  policy.answered("kept", 5, 1);
  for (let i = 0; i < 1_000; i++) policy.arrive(i);
  expect(policy.known()).toBeLessThanOrEqual(21);
  expect(policy.arrive("kept").hit).toBe(true);
});
