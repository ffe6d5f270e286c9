// Samples and choices of linked prefill on a real ClickHouse: what a process of an arm reads back
// of them, and what people see. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { memory } from "../../algorithms/linked-prefill/policy-choice.ts";
import { createLinkHistory, type OpenLinkHistory } from "../../state/link-history.ts";
import { policiesOf } from "../../pipelines/policies.ts";
import type { Session } from "../../pipelines/session.ts";
import { createLinkedChoice, type Chosen } from "../../arms/linked/choice.ts";
import { followHistory } from "../../arms/linked/history.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { OutgoingMessage } from "../../connections/kafka/port.ts";
import { isRecorded, rowsOf } from "../../operators/decode/rows.ts";
import { linkPolicyName } from "../../state/policies/link.ts";
import { revertPolicy } from "../../state/policies/revert.ts";
import type { Policy, PrefillSample } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";

let database: MigratedDatabase;
let clickhouse: ClickHouse;
let offset = 0;

beforeAll(async () => {
  database = await startDatabase("link_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  for (const table of ["prefill_samples", "policies"]) await clickhouse.command(`TRUNCATE TABLE ${table}`);
});

const placeOf = (topic: string) => ({ topic, partition: 0, offset: offset++, timestamp: Date.now() });
const of = { model: "f00d", convention: "context" };

async function measured(...samples: Partial<PrefillSample>[]): Promise<void> {
  const record = { requestId: "r", tenant: "t", arm: "small", ...of, policy: "last-1", recomputedShare: 0.1, kl: 0.02 };
  const whole = samples.map((more) => ({ ...record, agreement: 1, createdAt: Date.now(), ...more }));
  const rows = whole.flatMap((one) => rowsOf["prefill-samples"](one, placeOf("prefill-samples")));
  await clickhouse.insert(
    "prefill_samples",
    rows.flatMap((table) => table.rows),
  );
}

/** An arm's process, whose choices go where record would put them. */
function aProcess(): OpenLinkHistory & { sent: Promise<void>[] } {
  const sent: Promise<void>[] = [];
  const records = new Map<Buffer, object>();
  const session = {
    clickhouse,
    topic: (name: string) => name,
    log: { warn: () => undefined },
    codec: {
      encode: (_name: string, record: object) => {
        const value = Buffer.alloc(1);
        records.set(value, record);
        return value;
      },
    },
    kafka: {
      plainProducer: () => ({
        send: (messages: readonly OutgoingMessage[]) => {
          const done = Promise.all(
            messages.map(async ({ topic, value }) => {
              if (topic !== "policies" || !isRecorded(topic)) return;
              const [table] = rowsOf[topic](records.get(value as Buffer) as Policy, placeOf(topic));
              await clickhouse.insert("policies", table!.rows);
            }),
          ).then(() => undefined);
          sent.push(done);
          return done;
        },
        close: () => Promise.resolve(),
      }),
    },
  } as unknown as Parameters<typeof createLinkHistory>[0];
  return { ...createLinkHistory(session, { arm: "small", bounds: { short: 0.1, long: 0.2 } }), sent };
}

it("reads the newest samples of the arm, the model, the convention and the policies, oldest first", async () => {
  const now = Date.now();
  await measured(
    ...[3, 1, 2, 4].map((n) => ({ requestId: `r${n}`, createdAt: now - 10_000 + n, kl: n })),
    { requestId: "n1", policy: "naive", createdAt: now - 9_000, kl: 9 },
    { requestId: "a", arm: "other" },
    { requestId: "b", model: "beef" },
    { requestId: "c", convention: "alone" },
    { requestId: "d", policy: "blend-15" },
    { requestId: "e", createdAt: now - 15 * 86_400_000 },
  );
  // The same sample once more, as after a restart of record.
  await measured({ requestId: "r4", createdAt: now - 10_000 + 4, kl: 4 });
  const found = await aProcess().samples(of, ["naive", "last-1"], 3);
  expect(found).toEqual([
    ...[2, 3, 4].map((n) => ({ requestId: `r${n}`, policy: "last-1", recomputedShare: 0.1, kl: n })),
    { requestId: "n1", policy: "naive", recomputedShare: 0.1, kl: 9 },
  ]);
  expect(await aProcess().samples({ ...of, model: "none" }, ["naive", "last-1"], 3)).toEqual([]);
});

it("a new process chooses by what others measured, and the choice is recorded with its figures, once", async () => {
  await measured(
    ...Array.from({ length: 25 }, (_, n) => ({
      policy: "short:last-1",
      requestId: `r${n}`,
      createdAt: Date.now() - 1_000 + n,
    })),
  );
  for (let process = 0; process < 2; process++) {
    const history = aProcess();
    const choice = createLinkedChoice({ policy: "auto", sampleShare: 1, maxKl: { short: 0.1, long: 0.2 } }, () => 0);
    const log = { info: () => undefined, warn: (...what: unknown[]) => expect.unreachable(JSON.stringify(what)) };
    const follower = followHistory({ choice, history, of: () => of, log });
    await expect.poll(() => choice.policy(null), { timeout: 10_000 }).toBe("short:last-1,long:attnlink-4");
    await expect
      .poll(() => history.choices(of), { timeout: 10_000 })
      .toEqual(
        new Map([
          ["short", "last-1"],
          ["long", "attnlink-4"],
        ]),
      );
    await Promise.all(history.sent);
    follower.stop();
  }
  const rows = await clickhouse.query<Record<string, unknown>>("SELECT * EXCEPT since FROM link_choices");
  expect(rows).toEqual([
    {
      ...{ arm: "small", ...of, chunks: "long", policy: "attnlink-4", until: null, bound: 0.2 },
      ...{ samples: 0, mean_kl: null, upper_kl: null, mean_share: null },
    },
    {
      ...{ arm: "small", ...of, chunks: "short", policy: "last-1", until: null, bound: 0.1 },
      // Older ones count a little less.
      samples: expect.closeTo((1 - 0.5 ** (25 / memory)) / (1 - 0.5 ** (1 / memory)), 6),
      mean_kl: expect.closeTo(0.02, 9),
      upper_kl: expect.closeTo(0.02, 6),
      mean_share: expect.closeTo(0.1, 9),
    },
  ]);
});

it("shows what was used from when to when, whichever process wrote it, by arm", async () => {
  const history = aProcess();
  const chose = async (chosen: Omit<Chosen, "kind">, model = "f00d"): Promise<void> => {
    // Versions are times in milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 3));
    history.chose({ kind: "short", ...chosen }, { ...of, model });
    await Promise.all(history.sent);
  };
  const record = { weight: 30, kl: 0.04, klSquared: 0.0016, share: 0.1 };
  await chose({ policy: "last-2", record: null });
  await chose({ policy: "last-2", record: null });
  await chose({ policy: "last-1", record });
  await chose({ policy: "last-1", record });
  await chose({ policy: "last-2", record: null }, "beef");
  // A policy of another kind is none of these.
  const [router] = rowsOf.policies(
    {
      ...{ name: "router", tenant: "default", version: 1, kind: "router/1", body: "{}", reference: null, hash: null },
      ...{ featureVersion: 1, trainedThrough: null, metrics: {}, revertOf: null, createdAt: Date.now() },
    },
    placeOf("policies"),
  );
  await clickhouse.insert("policies", router!.rows);
  const rows = await clickhouse.query<{
    policy: string;
    model: string;
    since: string;
    until: string | null;
    mean_kl: number | null;
  }>("SELECT policy, model, since, until, mean_kl FROM link_choices WHERE arm = 'small'");
  expect(rows.map(({ policy, model, mean_kl }) => [policy, model, mean_kl])).toEqual([
    ["last-2", "f00d", null],
    ["last-1", "f00d", 0.04],
    ["last-2", "beef", null],
  ]);
  expect(rows.map(({ until }) => until)).toEqual([...rows.slice(1).map(({ since }) => since), null]);
  expect(await history.choices(of)).toEqual(new Map([["short", "last-1"]]));
  expect(await history.choices({ ...of, model: "beef" })).toEqual(new Map([["short", "last-2"]]));
  expect(await history.choices({ ...of, convention: "alone" })).toEqual(new Map());
  expect(linkPolicyName("small")).toBe("link/small");
});

it("is a record, not a policy that could be reverted", async () => {
  const session = { clickhouse } as unknown as Session;
  await expect(revertPolicy(policiesOf(session), linkPolicyName("small"), undefined, Date.now())).rejects.toThrow(
    "linked.policy",
  );
});
