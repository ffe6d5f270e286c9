// Two tenants share the examples of a domain: each is shown the other's good answers, and no other
// tenant is. Requests that opted out are not shared, and the response cache is not. precedent
// forget of one tenant takes its examples from the other, too.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { v7 as uuid } from "uuid";
import { runCommand } from "../../cli/run.testing.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { feedbackOf } from "../support/learning.ts";
import { startRemembering } from "../support/remembering.ts";
import type { TestSystem } from "../support/system.ts";

const questions = {
  shared: "How do I compress a folder with tar?",
  private: "How do I count the lines of a file?",
  elsewhere: "How do I show the free space of a disk?",
  kept: "How do I list the open network ports?",
};
const answerTo = (question: string): string => `answer: ${question}`;

let folder: string;
let system: TestSystem;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-shared-domains-"));
  const answers = Object.values(questions).map((request) => ({ request, response: answerTo(request) }));
  system = await startRemembering(folder, answers, { sharing: { shell: { tenants: ["acme", "beta"] } } });
}, 120_000);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const ask = (question: string, tenant: string, more: Partial<Request> = {}): Promise<Response> =>
  system.ask(question, { tenant, domain: "shell", ...more });

/** Asks, rates it well, and waits for what curate makes of it. */
async function rated(question: string, tenant: string, more: Partial<Request> = {}) {
  const { requestId } = await ask(question, tenant, more);
  const { kafka, codec, topic, clickhouse } = system.session;
  const producer = kafka.plainProducer();
  const feedback = feedbackOf(requestId, { id: uuid(), tenant, kind: "reward", value: 1, createdAt: Date.now() });
  await producer.send([{ topic: topic("feedback"), key: requestId, value: codec.encode("feedback", feedback) }]);
  await producer.close();
  return system.eventually("the decision on it", async () => {
    const [row] = await clickhouse.query<{ outcome: string; id: string }>(
      "SELECT outcome, example_id AS id FROM admissions FINAL WHERE request_id = {requestId:String}",
      { requestId },
    );
    return row;
  });
}
const sharedDomainOf = async (id: string): Promise<string | undefined> => {
  const [row] = await system.session.clickhouse.query<{ domain: string }>(
    "SELECT domain FROM examples FINAL WHERE example_id = {id:String} AND NOT deleted",
    { id },
  );
  return row?.domain;
};

test("a good answer to one tenant helps the other that shares the domain, and no third one", async () => {
  const { outcome, id } = await rated(questions.shared, "acme");
  expect(outcome).toBe("admitted");
  expect(await system.eventually("the example recorded", () => sharedDomainOf(id))).toBe("+/shell");
  const kept = await rated(questions.private, "acme", { privacy: { cache: true, share: false, fresh: false } });
  expect(kept.outcome).toBe("refused");
  const own = await rated(questions.elsewhere, "acme", { domain: "other" });
  expect(await system.eventually("the example recorded", () => sharedDomainOf(own.id))).toBe("acme/other");

  const shown = await system.eventually("the other tenant to be shown it", async () => {
    const response = await ask(questions.shared, "beta", { privacy: { cache: true, share: true, fresh: true } });
    return response.exampleIds.length > 0 ? response : undefined;
  });
  expect(shown).toMatchObject({ exampleIds: [id], source: "generated" });
  // Its own answers it finds as well.
  const fresh = { privacy: { cache: true, share: true, fresh: true } };
  expect((await ask(questions.shared, "acme", fresh)).exampleIds).toEqual([id]);
  for (const [tenant, domain] of [
    ["gamma", "shell"],
    ["beta", "other"],
    ["+", "shell"],
  ] as const)
    expect((await ask(questions.shared, tenant, { ...fresh, domain })).exampleIds, `${tenant} in ${domain}`).toEqual(
      [],
    );
  for (const question of [questions.private, questions.elsewhere])
    expect((await ask(question, "beta", fresh)).exampleIds).not.toContain(own.id);
});

test("no tenant is given the other's cached answer", async () => {
  const first = await ask(questions.kept, "acme");
  await system.eventually("the answer to be kept", async () => {
    const { source } = await ask(questions.kept, "acme");
    return source === "cache" ? true : undefined;
  });
  const theirs = await ask(questions.kept, "beta");
  expect([first.source, theirs.source]).toEqual(["generated", "generated"]);
});

test("forgetting one tenant takes its examples from the other, too", { timeout: 120_000 }, async () => {
  const { code, note } = await runCommand(folder, ["forget", "--tenant", "acme"]);
  expect({ code, note }).toMatchObject({ code: 0 });
  const fresh = { privacy: { cache: true, share: true, fresh: true } };
  await system.eventually("it to be gone", async () =>
    (await ask(questions.shared, "beta", fresh)).exampleIds.length === 0 ? true : undefined,
  );
});
