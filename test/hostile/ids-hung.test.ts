// ClickHouse hangs while partitions move: the ids that were seen are known all the same. Another
// body under an id is refused, the same one waits and gets the first answer when ClickHouse is
// back, and everything else is answered meanwhile, requests with new ids and without.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { startNumberedModel, type NumberedModel } from "../support/numbered-model.ts";
import { withServerHung } from "../support/servers.ts";
import { testStack } from "../support/stack.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";

const arms = ["queued", "inline"] as const;
const each = 12;

let model: NumberedModel;
/** Its stages are those that the partitions leave. */
let system: TestSystem;
let session: Session;
let others: RunningStages;

beforeAll(async () => {
  model = await startNumberedModel();
  system = await startSystem(
    {
      limits: { drainMs: 3_000, deadlineMs: 600_000, inFlight: 16 },
      arms: arms.map((name) => ({
        ...{ name, type: "openai", dispatch: name, baseUrl: model.baseUrl, model: name },
        prices: { prompt: 1, completion: 1 },
      })),
    },
    { stages: ["plan", "generate", "record"] },
  );
  session = await openSession(
    { ...system.config, instance: "other" },
    { log: createLog({ level: system.config.log.level }), clientId: "other", start: false },
  );
  others = await startStages(session, { stages: ["plan", "generate"] });
});
afterAll(async () => {
  await others.stop();
  await session.close();
  await Promise.all([system.stop(), model.stop()]);
});

const on = (arm: string): Partial<Request> => ({
  allow: { arms: [arm], maxCost: null, deadlineMs: null, costWeight: null },
});
const ids = arms.flatMap((arm) => Array.from({ length: each }, (_, i) => ({ arm, id: `${arm}-${i}` })));
const ask = (of: typeof ids, question: string): Promise<void> =>
  system.produce(of.map(({ arm, id }) => requestOf(`${question} ${id}`, { id, ...on(arm) })));
const fresh = arms.map((arm, i) => ({ arm, id: `fresh-${i}` }));
const responsesTo = (id: string): readonly Response[] => system.responses.get(id) ?? [];
const all = (what: string, holds: (id: string) => boolean, withinMs = 30_000): Promise<true> =>
  system.eventually(what, () => Promise.resolve(ids.every(({ id }) => holds(id)) || undefined), withinMs);

test("ids are known, other requests are answered, and the originals' repeats get their first answers", async () => {
  const stored = ids.filter((_, i) => i % 2 === 0);
  await ask(stored, "body of");
  await system.eventually("rows of the first half", async () => {
    const [row] = await session.clickhouse.query<{ rows: number }>("SELECT count() AS rows FROM responses FINAL");
    return Number(row?.rows) === stored.length || undefined;
  });
  await withServerHung(testStack().folder, "clickhouse", whileHung);
  const record = await startStages(session, { stages: ["record"] });
  await all("copies", (id) => responsesTo(id).length === 3, 60_000);
  await record.stop();
  for (const { id } of ids) {
    const [first, , copy] = responsesTo(id);
    expect(copy).toMatchObject({ status: "ok", duplicate: true, text: first?.text, cost: 0 });
    expect(first).toMatchObject({ status: "ok", duplicate: false, text: expect.stringContaining(`body of ${id}`) });
  }
  const metrics = await session.metrics.metrics();
  expect(metrics).toMatch(new RegExp(`^precedent_seen_ids ${ids.length + fresh.length}$`, "m"));
  expect(metrics).toMatch(/^precedent_seen_ids_waiting_partitions 0$/m);

  async function whileHung(): Promise<void> {
    // record can't store the other half.
    await ask(
      ids.filter((one) => !stored.includes(one)),
      "body of",
    );
    await all("first answers", (id) => responsesTo(id).length === 1);
    await system.stages.stop();
    await system.eventually("all partitions at the other process", () =>
      Promise.resolve(others.reports().plan?.partitions === 4 || undefined),
    );

    await ask(ids, "another body of");
    await all("refusals of other bodies", (id) => responsesTo(id).length === 2);
    for (const { id } of ids)
      expect(responsesTo(id)[1]).toMatchObject({ status: "refused", duplicate: true, error: { code: "id_reused" } });

    // More of them than plan has slots.
    await ask(ids, "body of");
    await ask(fresh, "question of");
    const nameless = requestOf("asked without an id", on("inline"));
    await system.produce([{ ...nameless, id: null as unknown as string }]);
    await system.eventually("answers to others", () => {
      const texts = [...system.responses.values()].flat().map(({ text }) => text);
      const answered = (part: string): boolean => texts.some((text) => text.includes(part));
      return Promise.resolve(
        ["question of fresh-0", "question of fresh-1", "asked without an id"].every(answered) || undefined,
      );
    });
    await sleep(500);
    expect(ids.filter(({ id }) => responsesTo(id).length !== 2)).toEqual([]);
  }
}, 240_000);
