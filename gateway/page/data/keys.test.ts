import pino from "pino";
import { expect, it } from "vitest";
import type { ApiKey } from "../../../schemas/types.ts";
import { createPageKeys, type KeysDependencies } from "./keys.ts";

const now = 1_000;
const key = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  ...{ id: `prk-${id}`, hash: "", tenant: "", admin: true, label: "", arms: null, domains: null, account: null },
  ...{ requestsPerMinute: null, tokensPerMinute: null, spendLimitPerDay: null, spendLimitPerMonth: null },
  ...{ createdAt: 0, expiresAt: null, revokedAt: null, ...more },
});

/** The topic of keys in memory. */
function opened(...keys: ApiKey[]) {
  const rows: { key: Buffer; value: Buffer }[] = keys.map((one) => ({
    key: Buffer.from(one.id),
    value: Buffer.from(JSON.stringify(one)),
  }));
  const kafka = {
    readTopic: (_topic: string, onRecords: (records: unknown[], partition: number) => Promise<void>) => ({
      caughtUp: onRecords(rows, 0),
      stop: () => Promise.resolve(),
    }),
    plainProducer: () => ({
      send: (messages: { key: string; value: Buffer }[]) =>
        Promise.resolve(messages.forEach((one) => rows.push({ key: Buffer.from(one.key), value: one.value }))),
      close: () => Promise.resolve(),
    }),
  };
  const codec = {
    decode: (_record: string, bytes: Buffer) =>
      Promise.resolve({ ok: true, value: JSON.parse(bytes.toString()) as ApiKey }),
    encode: (_record: string, value: ApiKey) => Buffer.from(JSON.stringify(value)),
  };
  const session = { kafka, codec, log: pino({ level: "silent" }), topic: (name: string) => name };
  return createPageKeys({
    session: session as unknown as KeysDependencies["session"],
    ...{ clickhouse: { query: () => Promise.resolve([]) }, arms: () => ["small"], clock: () => now },
  });
}

it.each([
  ["its id", "prk-a", [key("a")]],
  ["the whole key, which has its id", "prk-a.0123456789abcdef0123456789abcdef", [key("a")]],
  ["another one that was rotated and ends soon", "prk-a", [key("a"), key("b", { expiresAt: now + 1 })]],
  [
    "others that are revoked, ended, or a tenant's",
    "prk-a",
    [
      ...[key("a"), key("b", { revokedAt: 1 }), key("c", { expiresAt: now })],
      key("d", { admin: false, tenant: "acme" }),
    ],
  ],
])("keeps the last admin key, named by or beside %s", async (_what, id, known) => {
  const keys = opened(...known);
  await expect(keys.revoke(id)).rejects.toThrow("the only admin key that lasts");
  expect((await keys.list({})).keys.some((one) => one.id === "prk-a")).toBe(true);
});

it("revokes an admin key beside one that lasts, and after another the last one stays", async () => {
  const keys = opened(key("a"), key("b"));
  const [first, second] = await Promise.allSettled([keys.revoke("prk-a"), keys.revoke("prk-b.x")]);
  expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
  expect((await keys.list({})).keys.map(({ id }) => id)).toEqual(["prk-b"]);
});
