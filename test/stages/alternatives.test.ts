// Being asked, on the real stack: where the arms are nearly even the response says so, and for
// clients that allow it the alternative arm answers, too, on alternative-answers and never on
// responses: not when it fails, is late, is cancelled, or when plan and generate are killed at
// seeded moments. The preference that is given then changes the policy.
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { TopicName } from "../../schemas/records.ts";
import { findConversation } from "../../gateway/find-conversation.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { feedbackOf } from "../support/learning.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

let first: Upstream;
let second: Upstream;
beforeAll(async () => {
  first = await startUpstream("first");
  second = await startUpstream("second");
});
afterAll(() => {
  first.close();
  second.close();
});

const openai = (name: string, { baseUrl }: Upstream, cost: number, dispatch: string) => ({
  ...{ name, type: "openai", baseUrl, model: name, stream: false, retries: 0, cost, dispatch, concurrency: 64 },
});
const configured = (ofSecond: string) => ({
  routing: {
    ...{ breaker: { minimum: 100 }, askShare: 0 },
    alternativeAnswers: { share: 1, perTenantHour: 10_000 },
  },
  learn: { everyMs: 300, settleMs: 0 },
  cache: { enabled: true },
  arms: [
    openai("first", first, 0, "queued"),
    openai("second", second, 0, ofSecond),
    openai("costly", second, 1, "queued"),
  ],
});
/** Two arms of the same cost: nothing is known of either. */
const even = (more: Partial<Request> = {}): Partial<Request> => ({
  ...{ mayAsk: true, mayCompare: true, allow: allowing(["first", "second"]) },
  ...more,
});
const allowing = (arms: string[], more: Partial<Request["allow"]> = {}): Request["allow"] => ({
  ...{ arms, maxCost: null, deadlineMs: null, costWeight: null, ...more },
});
const otherThan = (arm: string | null): string => (arm === "first" ? "second" : "first");

/** Everything that comes on alternative-answers, by request id. */
async function followAlternativeAnswers(system: TestSystem) {
  const found = new Map<string, Response[]>();
  const tail = await follow(system.session, "alternative-answers", (one) => {
    found.set(one.requestId, [...(found.get(one.requestId) ?? []), one]);
  });
  return { found, stop: () => tail.stop() };
}
const rows = async (system: TestSystem, sql: string): Promise<Record<string, unknown>[]> =>
  system.session.clickhouse.query<Record<string, unknown>>(sql);

describe("on a running system", () => {
  let system: TestSystem;
  let alternatives: Awaited<ReturnType<typeof followAlternativeAnswers>>;
  beforeAll(async () => {
    system = await startSystem(configured("inline"));
    alternatives = await followAlternativeAnswers(system);
  });
  afterAll(async () => {
    await alternatives.stop();
    await system.stop();
  });
  afterEach(() => {
    for (const upstream of [first, second]) {
      upstream.release("healthy");
      upstream.behave("healthy");
    }
  });
  const alternativeOf = (id: string): Promise<Response> =>
    system.eventually(`the alternative answer to ${id}`, () => Promise.resolve(alternatives.found.get(id)?.[0]));
  const send = async <N extends TopicName>(name: N, key: string, record: Parameters<typeof encode<N>>[1]) => {
    const producer = system.session.kafka.plainProducer();
    await producer.send([{ topic: system.session.topic(name), key, value: encode(name, record) }]);
    await producer.close();
  };
  const encode = <N extends TopicName>(name: N, record: Parameters<typeof system.session.codec.encode<N>>[1]) =>
    system.session.codec.encode(name, record);

  test("even arms: it is asked and the alternative arm answers on alternative-answers; far apart: neither", async () => {
    const seen = new Set<string | null>();
    for (let i = 0; seen.size < 2 && i < 20; i++) {
      const response = await system.ask(`even ${i}`, even());
      seen.add(response.arm);
      const other = otherThan(response.arm);
      expect(response).toMatchObject({ status: "ok", asked: true, alternative: other });
      expect(await alternativeOf(response.requestId)).toMatchObject({
        ...{ status: "ok", arm: other, text: `${other}: even ${i}`, asked: false, alternative: null },
      });
    }
    expect(seen).toEqual(new Set(["first", "second"]));

    const only = await system.ask("asked alone", even({ mayCompare: false }));
    expect(only).toMatchObject({ asked: true, alternative: null });
    expect(await system.ask("not to be asked", even({ mayAsk: false }))).toMatchObject({
      ...{ asked: false, alternative: null },
    });
    const apart = even({ allow: allowing(["first", "costly"], { costWeight: 1_000 }) });
    expect(await system.ask("far apart", apart)).toMatchObject({ arm: "first", asked: false, alternative: null });
    await sleep(1_000);
    expect(alternatives.found.has(only.requestId)).toBe(false);
    for (const [id, found] of system.responses) expect([id, found.length]).toEqual([id, 1]);
  });

  test("both answers stand in ClickHouse; a repeat is given the first one", async () => {
    const { requestId, arm, text } = await system.ask("kept", even());
    await alternativeOf(requestId);
    const found = await system.eventually("both answers", async () => {
      const one = await findConversation(system.session.clickhouse, requestId, "default", { seesShared: true });
      return one?.alternative === undefined || one.response === undefined ? undefined : one;
    });
    expect(found).toMatchObject({
      decision: { arm, asked: true, askProbability: 1, alternativeArm: otherThan(arm) },
      response: { arm, text },
      alternative: { arm: otherThan(arm), status: "ok", text: `${otherThan(arm)}: kept` },
    });
    const again = await system.eventually("a hit", async () => {
      const repeat = await system.ask("kept", even());
      return repeat.source === "cache" ? repeat : undefined;
    });
    expect(again).toMatchObject({ text, arm, asked: false, alternative: null });
    await sleep(500);
    expect(alternatives.found.has(again.requestId)).toBe(false);
  });

  test("an alternative arm that fails, is late or is cancelled ends on alternative-answers, too", async () => {
    first.behave(500);
    for (let i = 0; i < 4; i++) {
      const response = await system.ask(`failing ${i}`, even());
      expect(response).toMatchObject({ status: "ok", arm: "second" });
      const other = await alternativeOf(response.requestId);
      if (response.failedArms.length === 0)
        expect(other).toMatchObject({ status: "failed", arm: "first", error: { code: "endpoint_unavailable" } });
    }
    first.behave("hold");
    second.behave("hold");
    const lateness = even({ allow: allowing(["first", "second"], { deadlineMs: 3_000 }) });
    const late = await Promise.all([1, 2, 3, 4, 5, 6].map((i) => system.ask(`late ${i}`, lateness)));
    for (const { requestId, arm, ...response } of late) {
      expect(response).toMatchObject({ status: "refused", error: { code: "deadline_exceeded" }, alternative: null });
      // An inline arm's request is planned when it has its answer; without one there is nothing to
      // compare.
      if (arm === "first")
        expect(await alternativeOf(requestId)).toMatchObject({
          ...{ status: "refused", arm: "second", error: { code: "deadline_exceeded" } },
        });
    }
    const ids = [1, 2, 3, 4, 5, 6].map(() => uuidv7());
    const before = first.asked.length + second.asked.length;
    await system.produce(ids.map((id, i) => requestOf(`cancelled ${i}`, { id, ...even() })));
    await system.eventually("the calls", () =>
      Promise.resolve(first.asked.length + second.asked.length >= before + ids.length ? true : undefined),
    );
    for (const id of ids) {
      await send("cancels", id, { requestId: id, tenant: "default", createdAt: Date.now() });
      const { arm, ...response } = await system.response(id);
      expect(response).toMatchObject({ status: "failed", error: { code: "cancelled" } });
      if (arm === "first")
        expect(await alternativeOf(id)).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    }
    for (const [one, found] of system.responses) expect([one, found.length]).toEqual([one, 1]);
    for (const [one, found] of alternatives.found) expect([one, found.length]).toEqual([one, 1]);
  });

  test("preferences change the policy, by which the arms are no longer even", async () => {
    const compared: Response[] = [];
    for (let i = 0; i < 12; i++) compared.push(await system.ask(`which is better ${i}`, even()));
    for (const { requestId, arm, alternative } of compared) {
      expect(alternative).toBe(otherThan(arm));
      const value = arm === "second" ? 1 : -1;
      const record = feedbackOf(requestId, {
        ...{ id: uuidv7(), kind: "preference", value, against: alternative, createdAt: Date.now() },
      });
      await send("feedback", requestId, record);
    }
    const means = await system.eventually("a policy of the preferences", async () => {
      const { requestId } = await system.ask(`after ${uuidv7()}`, even({ mayCompare: false }));
      const row = await system.eventually("its decision", async () => {
        const found = await rows(
          system,
          `SELECT arms.arm AS names, arms.mean AS means, policy_version AS version FROM decisions FINAL WHERE request_id = '${requestId}'`,
        );
        return found[0];
      });
      const of = new Map((row["names"] as string[]).map((name, i) => [name, (row["means"] as number[])[i] ?? NaN]));
      return of.get("second")! - of.get("first")! > 0.1 ? of : undefined;
    });
    expect(means.get("second")).toBeGreaterThan(means.get("first")!);
  });
});

describe.each(["generate", "plan"] as const)("%s is killed", (stage) => {
  let system: TestSystem;
  let workers: Workers;
  beforeAll(async () => {
    const others = (["plan", "generate"] as const).filter((one) => one !== stage);
    system = await startSystem(
      { ...configured("queued"), cache: { enabled: false } },
      { stages: [...others, "record"] },
    );
    workers = createWorkers({ ...system.config, log: { level: "warn" } }, system.config.stack.folder);
    await workers.start(stage, "killed");
  });
  afterAll(async () => {
    await workers.stop();
    await system.stop();
  });

  test("one response and one alternative answer for each request, each where it belongs", async () => {
    const { found: alternatives, stop } = await followAlternativeAnswers(system);
    const random = splitmix64(23n);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const more = Array.from({ length: 24 }, (_, i) => `kill-${round}-${i}`);
      ids.push(...more);
      const calls = first.asked.length + second.asked.length;
      await system.produce(more.map((id) => requestOf("hello", { id, ...even() })));
      const enough = calls + Math.ceil(random() * 24);
      await system
        .eventually(
          "calls",
          () => Promise.resolve(first.asked.length + second.asked.length >= enough ? true : undefined),
          20_000,
        )
        .catch(() => undefined);
      await sleep(random() * 100);
      await workers.kill("killed");
      await workers.start(stage, "killed");
    }
    await system.eventually(
      "all answers",
      async () => {
        const missing = ids.filter((id) => !system.responses.has(id) || !alternatives.has(id));
        if (missing.length === 0) return true;
        const planned = await rows(
          system,
          `SELECT request_id AS id, alternative, asked, load, saturation, breakers, alternative_arm FROM decisions FINAL WHERE request_id IN ('${missing.join("','")}')`,
        );
        throw new Error(
          `without response ${missing.filter((id) => !system.responses.has(id)).join()}; ${JSON.stringify(planned)}`,
        );
      },
      45_000,
    );
    await sleep(2_000);
    for (const id of ids) {
      const [response, ...more] = system.responses.get(id) ?? [];
      expect([id, more.length]).toEqual([id, 0]);
      const other = otherThan(response?.arm ?? null);
      expect(response).toMatchObject({ status: "ok", asked: true, alternative: other });
      expect(alternatives.get(id)).toMatchObject([{ status: "ok", arm: other, text: `${other}: hello` }]);
    }
    const counts = await system.eventually("the rows", async () => {
      const [row] = await rows(
        system,
        `SELECT toUInt32(count()) AS pairs, toUInt32(countIf(decision.arm = pair.arm AND decision.alternative_arm = pair.other_arm)) AS as_decided
         FROM answer_pairs AS pair INNER JOIN (SELECT * FROM decisions FINAL WHERE alternative) AS decision
           ON decision.request_id = pair.request_id AND decision.tenant = pair.tenant`,
      );
      return row?.["pairs"] === ids.length ? row : undefined;
    });
    expect(counts).toEqual({ pairs: ids.length, as_decided: ids.length });
    await stop();
  });
});
