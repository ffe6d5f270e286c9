// No request is shown an example of another tenant or domain, whatever happens meanwhile: requests
// of several tenants interleave with changes of the pool, over a pool that keeps its port's promise
// and over one that gives out whatever it has.
import fc from "fast-check";
import { pino } from "pino";
import { expect, test } from "vitest";
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { configSchema } from "../../config/schema.ts";
import type { Candidate, ExamplePool } from "../../state/examples/port.ts";
import { arm, candidate, embedded } from "./fixtures.testing.ts";
import { createSelect } from "./select.ts";

interface Owner {
  tenant: string;
  domain: string | null;
}
// Names that could be confused when they are put together.
const owner: fc.Arbitrary<Owner> = fc.record({
  tenant: fc.constantFrom("a", "b", "a/b"),
  domain: fc.constantFrom("b", "shell", "b/shell", null),
});
const id = fc.integer({ min: 0, max: 30 }).map(String);
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("add" as const), id, owner }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), id }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("ask" as const), owner }) },
  ),
  { minLength: 20, maxLength: 80 },
);
const domainOf = ({ tenant, domain }: Owner): string => sharingDomain(tenant, domain);

const log = pino({ level: "silent" });
const context = { signal: new AbortController().signal, log, deadline: 1, timings: [] };
const selection = configSchema.shape.selection.parse({ explore: { trials: 0.5, thresholds: 0.5 } });

test.each([
  ["that keeps its promise", false],
  ["that gives out everything", true],
])("with a pool %s no request sees examples of another tenant or domain", async (_, hostile) => {
  let shown = 0;
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.scheduler(),
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      async (given, scheduler, random) => {
        const held = new Map<string, Candidate>();
        const nearest: ExamplePool["nearest"] = async (domain, _vector, k) => {
          await scheduler.schedule(Promise.resolve());
          return [...held.values()].filter(({ example }) => hostile || example.domain === domain).slice(0, k);
        };
        const score = (features: Float32Array): Promise<Float32Array> =>
          scheduler.schedule(Promise.resolve(new Float32Array(features.length / HELPFULNESS_FEATURES).fill(0.7)));
        const select = createSelect({
          pool: { nearest },
          selection,
          arms: () => [arm("small"), arm("large", { cost: 1 })],
          clock: () => 0,
          random: () => {
            const { value } = random.next() as { value: number };
            return value;
          },
          helpfulnessModel: () => ({ version: 1, score }),
        });
        const ask = async (asker: Owner, requestId: string): Promise<void> => {
          const domain = domainOf(asker);
          const request = { ...embedded().request, id: requestId, tenant: asker.tenant };
          const outcome = await select(embedded({ domain, request }), context);
          if (outcome.kind !== "ok") throw new Error(outcome.kind);
          const { examplesByArm, trialByArm } = outcome.value;
          const owners = [...examplesByArm.values()].flat().map(({ response }) => response.split(" of ")[1]);
          shown += owners.length;
          expect(owners.filter((name) => name !== domain)).toEqual([]);
          for (const trial of trialByArm.values()) expect(trial.id.split(" of ")[1]).toBe(domain);
        };
        const asked: Promise<void>[] = [];
        for (const [i, step] of given.entries()) {
          if (step.kind === "ask") asked.push(ask(step.owner, `r${i}`));
          else if (step.kind === "remove") held.delete(step.id);
          else {
            const domain = domainOf(step.owner);
            const over = { tenant: step.owner.tenant, domain, response: `${step.id} of ${domain}` };
            held.set(step.id, candidate(`${step.id} of ${domain}`, 0.8, over, Number(step.id) % 8));
          }
          if (i % 3 === 0 && scheduler.count() > 0) await scheduler.waitOne();
        }
        await scheduler.waitIdle();
        await Promise.all(asked);
      },
    ),
    { numRuns: 60 },
  );
  expect(shown).toBeGreaterThan(100);
});
