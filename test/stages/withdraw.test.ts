// An author is withdrawn on a running system: the published policy is the one from before that
// author came, and the example that a correction of theirs had put into the pool is gone.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withdrawalRecord } from "../../cli/feedback-withdraw.ts";
import { decodeRouterPolicy, ROUTER, type RouterPolicy } from "../../state/policies/router.ts";
import type { Feedback, Policy, Response, Withdrawal } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { feedbackOf } from "../support/learning.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const questions = [
  "How do I show free disk space?",
  "List all files",
  "Count the lines of a file",
  "Who is logged in?",
];
let folder: string;
let system: TestSystem;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-withdraw-"));
  const file = join(folder, "log.jsonl");
  await writeFile(
    file,
    questions.map((request) => JSON.stringify({ request, response: `answer to ${request}` })).join("\n"),
  );
  system = await startSystem({
    arms: [{ name: "only", type: "recorded", file, cost: 0.2 }],
    learn: { everyMs: 300, settleMs: 0 },
    curate: { everyMs: 300, admit: { minimumQuality: 0.8 } },
  });
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

async function send<N extends "feedback" | "withdrawals">(
  name: N,
  ...records: (Feedback | Withdrawal)[]
): Promise<void> {
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  await producer.send(
    records.map((record) => ({
      topic: topic(name),
      key: "requestId" in record ? record.requestId : record.id,
      value: codec.encode(name, record as never),
    })),
  );
  await producer.close();
}

const numbersOf = ({ arms }: RouterPolicy): number[] =>
  [...arms.values()].flatMap(({ count, mean, factor }) => [count, ...Array.from(mean), ...Array.from(factor)]);

test("a withdrawn author leaves no trace in the policy and none in the pool", async () => {
  const policies: RouterPolicy[] = [];
  const tail = await follow(system.session, "policies", (record: Policy) => {
    const decoded = record.name === ROUTER ? decodeRouterPolicy(record) : null;
    if (decoded !== null && !("problem" in decoded)) policies.push(decoded);
  });
  const countOf = (policy: RouterPolicy | undefined): number => policy?.arms.get("only")?.count ?? 0;
  const answered: Response[] = [];
  for (const question of questions) answered.push(await system.ask(question));
  const say = (author: string, i: number, more: Partial<Feedback>): Feedback =>
    feedbackOf(answered[i]!.requestId, { id: uuid(), kind: "reward", author, createdAt: Date.now(), ...more });
  await send("feedback", say("ann", 0, { value: 0.9 }), say("ann", 1, { value: 0.25 }));
  const before = await system.eventually("the policy of the honest", async () =>
    policies.findLast((policy) => countOf(policy) === 2),
  );

  await send(
    "feedback",
    say("mallory", 0, { value: 0, createdAt: Date.now() + 1_000 }),
    say("mallory", 2, { value: 1 }),
    say("mallory", 3, { kind: "correction", text: "rm -rf /" }),
  );
  await system.eventually("the poisoned policy", async () => policies.findLast((policy) => countOf(policy) === 4));
  const poisoned = "SELECT count() AS n FROM examples FINAL WHERE NOT deleted AND position(response, 'rm -rf') > 0";
  const examples = async (): Promise<number> => (await system.session.clickhouse.query<{ n: number }>(poisoned))[0]!.n;
  await system.eventually("the poisoned example", async () => ((await examples()) === 1 ? true : undefined));

  const seen = policies.length;
  await send("withdrawals", withdrawalRecord({ author: "mallory", tenant: "default" }, uuid(), Date.now()));
  const after = await system.eventually("a policy without the author", async () =>
    policies.slice(seen).findLast((policy) => countOf(policy) === 2),
  );
  const [one, other] = [numbersOf(after), numbersOf(before)];
  expect(one).toHaveLength(other.length);
  one.forEach((value, i) => expect(Math.abs(value - other[i]!)).toBeLessThan(1e-9 * Math.max(1, Math.abs(value))));
  expect(after.trainedThrough).toBe(before.trainedThrough);
  await system.eventually("the pool without the example", async () => ((await examples()) === 0 ? true : undefined));

  // With all feedback gone the policy knows nothing, as before the first.
  await send("withdrawals", withdrawalRecord({ source: "person" }, uuid(), Date.now()));
  await system.eventually("a policy that knows nothing", async () => policies.findLast(({ arms }) => arms.size === 0));
  await tail.stop();
});
