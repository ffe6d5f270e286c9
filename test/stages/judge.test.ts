// The automatic judge on the real stack, a deployment in which no user says anything: an arm
// compares answers, the policy moves to the better arm, nothing private is judged, and nothing is
// judged twice when the process is killed.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { feedbackIdOf } from "../../operators/judge/feedback-id.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Request } from "../../schemas/types.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

let upstreams: Upstream[] = [];
let judge: Upstream;
let system: TestSystem;
let workers: Workers;

/** The answer of the arm `second` is the better one, in either position. */
const verdict = (prompt: string): string =>
  `One is better.\nSCORE: ${/<answer_a>\s*second: /.test(prompt) ? 3 : /<answer_b>\s*second: /.test(prompt) ? -3 : 0}`;
const openai = (name: string, { baseUrl }: Upstream, cost: number) => ({
  ...{ name, type: "openai", baseUrl, model: name, stream: false, retries: 0, cost, concurrency: 64, examples: false },
});

beforeAll(async () => {
  judge = await startUpstream("judge", verdict);
  upstreams = [judge, await startUpstream("first"), await startUpstream("second")];
  system = await startSystem(
    {
      routing: { askShare: 0, alternativeAnswers: { share: 1, perTenantHour: 10_000 } },
      learn: {
        ...{ everyMs: 100, settleMs: 0 },
        judge: {
          ...{ arm: "judge", reference: "second", share: 1, afterMinutes: 0, samples: 1 },
          ...{ perHour: 1_000, perTenantHour: 1_000 },
        },
      },
      limits: { offPeakLoad: 10 },
      arms: [openai("first", upstreams[1]!, 0), openai("second", upstreams[2]!, 0), openai("judge", judge, 1)],
    },
    { stages: ["plan", "generate", "record"] },
  );
  workers = createWorkers({ ...system.config, log: { level: "info" } }, system.config.stack.folder);
});
afterAll(async () => {
  await workers.stop();
  await system.stop();
  for (const upstream of upstreams) upstream.close();
});

const rows = (sql: string): Promise<Record<string, unknown>[]> =>
  system.session.clickhouse.query<Record<string, unknown>>(sql);
const asking = (more: Partial<Request> = {}): Partial<Request> => ({
  ...{ mayAsk: true, mayCompare: true },
  allow: { arms: ["first", "second"], maxCost: null, deadlineMs: null, costWeight: null },
  ...more,
});
const judgedOf = async (): Promise<string[]> =>
  (await rows("SELECT request_id AS id FROM judgements FINAL ORDER BY id")).map(({ id }) => String(id));

/** As a process does that is killed behind the feedback, before the judgement. */
async function leaveBehind(requestId: string): Promise<void> {
  const [pair] = await rows(
    `SELECT tenant, arm AS other_arm FROM alternative_answers WHERE request_id = '${requestId}'`,
  );
  const { tenant, other_arm } = pair as { tenant: string; other_arm: string };
  const [judge, value] = ["judge@judge", other_arm === "second" ? -3 : 3];
  const feedback = plainFeedback({
    id: feedbackIdOf({ request_id: requestId, tenant, other_arm, judge }),
    ...{ requestId, tenant, kind: "comparison", value, source: "judge", author: judge },
    ...{ against: other_arm, createdAt: Date.now() },
  });
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  await producer.send([{ topic: topic("feedback"), key: requestId, value: codec.encode("feedback", feedback) }]);
  await producer.close();
  await system.eventually("its row", async () =>
    (await rows("SELECT 1 FROM feedback")).length > 0 ? true : undefined,
  );
}

test("without a word of a user the policy moves to the better arm, and nothing is judged twice", async () => {
  const wanted = Array.from({ length: 30 }, (_, i) => `pair-${String(i).padStart(2, "0")}`);
  await system.produce(wanted.map((id) => requestOf(`question ${id}`, { id, ...asking() })));
  await Promise.all(wanted.map((id) => system.response(id)));
  const hidden = ["no-cache", "no-share", "no-cache-alone"];
  const privacy = { cache: true, share: true, fresh: false };
  await system.ask("secret", { id: hidden[0]!, ...asking({ privacy: { ...privacy, cache: false } }) });
  await system.ask("secret", { id: hidden[1]!, ...asking({ privacy: { ...privacy, share: false } }) });
  const alone = asking({ mayCompare: false, privacy: { ...privacy, cache: false } });
  await system.ask("secret", { id: hidden[2]!, ...alone });
  await system.eventually("the pairs", async () => {
    const [row] = await rows("SELECT toUInt32(count()) AS n FROM answer_pairs");
    return row?.["n"] === wanted.length + 2 ? true : undefined;
  });

  await leaveBehind(wanted[0]!);
  judge.behave("hold");
  await workers.start("learn", "one");
  await system.eventually("a verdict under way", () => Promise.resolve(judge.asked.length > 0 ? true : undefined));
  judge.behave("healthy");
  judge.release("healthy");
  await system.eventually("some verdicts", async () => ((await judgedOf()).length >= 3 ? true : undefined));
  await workers.kill("one");
  await workers.start("learn", "two");
  await system.eventually("all verdicts", async () => ((await judgedOf()).length >= wanted.length ? true : undefined));
  const better = await system.eventually("arms apart", async () => {
    const { requestId } = await system.ask(
      "after",
      asking({ mayCompare: false, mayAsk: false, privacy: { ...privacy, cache: false } }),
    );
    const [row] = await system.eventually("its decision", async () => {
      const found = await rows(
        `SELECT arms.arm AS names, arms.mean AS means FROM decisions FINAL WHERE request_id = '${requestId}'`,
      );
      return found.length > 0 ? found : undefined;
    });
    const of = new Map((row!["names"] as string[]).map((name, i) => [name, (row!["means"] as number[])[i] ?? NaN]));
    return of.get("second")! - of.get("first")! > 0.05 ? of : undefined;
  });
  expect(better.get("second")).toBeGreaterThan(better.get("first")!);

  expect(await judgedOf()).toEqual(wanted);
  const reported = await system.eventually("the feedback", async () => {
    const found = await rows(
      `SELECT request_id AS id, uniqExact(feedback_id) AS ids, any(source) AS source, any(kind) AS kind, any(author) AS author
       FROM feedback GROUP BY id ORDER BY id`,
    );
    return found.length >= wanted.length ? found : undefined;
  });
  expect(reported.map(({ id }) => id)).toEqual(wanted);
  for (const { ids, source, kind, author } of reported)
    expect({ ids: Number(ids), source, kind, author }).toEqual({
      ...{ ids: 1, source: "judge", kind: "comparison", author: "judge@judge" },
    });
}, 240_000);

test("an answer without another one gets it from the reference arm, never on responses; when the judge is away it waits", async () => {
  judge.behave(500);
  const ids = Array.from({ length: 20 }, (_, i) => `alone-${String(i).padStart(2, "0")}`);
  await system.produce(ids.map((id) => requestOf(`question ${id}`, { id, ...asking({ mayCompare: false }) })));
  const answered = await Promise.all(ids.map((id) => system.response(id)));
  const byFirst = answered.filter(({ arm }) => arm === "first").map(({ requestId }) => requestId);
  await sleep(4_000);
  expect((await judgedOf()).filter((id) => id.startsWith("alone"))).toEqual([]);
  judge.behave("healthy");
  await system.eventually("their verdicts", async () => {
    const judged = (await judgedOf()).filter((id) => id.startsWith("alone"));
    return judged.length >= byFirst.length ? true : undefined;
  });
  expect((await judgedOf()).filter((id) => id.startsWith("alone"))).toEqual(byFirst.sort());
  expect(await rows("SELECT 1 FROM alternative_answers WHERE startsWith(request_id, 'alone')")).toEqual([]);
  for (const [id, found] of system.responses) expect([id, found.length]).toEqual([id, 1]);
}, 120_000);
