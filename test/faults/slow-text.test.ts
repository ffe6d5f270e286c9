// Texts that take longer than allowed, beside ordinary ones: all requests are answered, and none
// waits for the slow ones.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { putDocuments } from "../../cli/documents.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

const questions = ["show free disk space", "rename all pictures", "mount an iso image", "download a web page"];
/**
 * The worst found: the splitter looks at every character, the rules of personal data see the
 * beginning of an account number in every word.
 */
const slowToSplit = "é@a.".repeat(250_000);
const slowToRedact = "DE89 ".repeat(180_000);

let system: TestSystem;
beforeAll(async () => {
  const file = join(await mkdtemp(join(tmpdir(), "precedent-slow-text-")), "log.jsonl");
  await writeFile(
    file,
    questions.map((request) => JSON.stringify({ request, response: `answer: ${request}` })).join("\n"),
  );
  system = await startSystem({
    arms: [{ name: "small", type: "recorded", file, cost: 1 }],
    kafka: { partitions: 2 },
    // No machine does these two within it, and short texts are done in place.
    limits: { textMs: 20, maxPromptBytes: 2 * 1_048_576 },
    curate: { everyMs: 100, admit: { maxBytes: 1_048_576 } },
  });
}, 120_000);
afterAll(() => system.stop());

test("a document that takes too long to split is cut at lengths, and requests beside it are answered", async () => {
  const document = (id: string, text: string) => ({
    tenant: "default",
    id,
    text,
    title: null,
    expiresAt: null,
    createdAt: 1,
  });
  await putDocuments(system.session, [document("hostile", slowToSplit), document("ordinary", "A note.")]);
  await system.eventually("plan has them", async () => {
    const { error } = await system.ask(questions[0]!, { documents: ["hostile", "ordinary"] });
    return error?.code === "unknown_document" ? undefined : true;
  });
  const asked = Array.from({ length: 20 }, (_, i) =>
    requestOf(questions[i % 4]!, { documents: i % 2 === 0 ? ["ordinary"] : ["hostile"] }),
  );
  await system.produce(asked);
  for (const [i, { id }] of asked.entries())
    expect(await system.response(id)).toMatchObject({ status: "ok", degraded: i % 2 === 0 ? [] : ["documents_split"] });
});

test("a candidate whose personal data takes too long is set aside; others are admitted, and the event loop goes on", async () => {
  const { kafka, codec, topic, clickhouse } = system.session;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const producer = kafka.plainProducer();
  const observe = async (question: string): Promise<string> => {
    const request = requestOf(question);
    const source = { arm: "elsewhere", model: "other", requestId: request.id };
    const record = {
      ...{ tenant: "default", domain: "ops", request, text: "from outside", source, quality: 1 },
      createdAt: Date.now(),
    };
    const value = codec.encode("observations", record);
    await producer.send([{ topic: topic("observations"), key: request.id, value }]);
    return request.id;
  };
  const outcome = (id: string) =>
    eventually("the decision on a candidate", async () => {
      const rows = await clickhouse.query<{ outcome: string; reason: string }>(
        "SELECT outcome, reason FROM admissions FINAL WHERE request_id = {id:String}",
        { id },
      );
      return rows[0];
    });
  delay.enable();
  const [before, hostile, after] = [
    await observe("reboot the router"),
    await observe(slowToRedact),
    await observe("flash the firmware"),
  ];
  await producer.close();
  expect(await outcome(before)).toEqual({ outcome: "admitted", reason: "" });
  expect(await outcome(after)).toEqual({ outcome: "admitted", reason: "" });
  expect(await outcome(hostile)).toEqual({ outcome: "refused", reason: "failed" });
  delay.disable();
  expect(await system.ask(questions[1]!)).toMatchObject({ status: "ok" });
  // Milliseconds; five passes, and none of them on the event loop.
  expect(delay.max / 1e6).toBeLessThan(1_000);
});
