// The process of a llama arm killed while a request is in flight through Kafka: every request gets
// exactly one response, and the stage goes on. Beside it what a response says of its time and its
// tokens.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { modelFile } from "../../config/models.ts";
import type { Request } from "../../schemas/types.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

const model = modelFile();
const missing = existsSync(model) ? "" : ` (skipped: no model at ${model}; run "npm run setup")`;

/** The process of the arm: a child of this one. */
function llamaProcess(): number | undefined {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) . /s, "")
        .split(" ")[0];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (Number(parent) === process.pid && command.includes("arms/llama/worker")) return Number(pid);
    } catch {
      // It ended while we looked.
    }
  }
  return undefined;
}

const long = (more: Partial<Request> = {}): Request & { id: string } =>
  requestOf("Tell me a long story about a river.", {
    params: { maxTokens: 60, temperature: 1, topP: null, seed: 1, stop: ["<none>"] },
    ...more,
  });

describe.skipIf(missing !== "")(`llama in the system${missing}`, () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({
      arms: [{ name: "small", type: "llama", contextTokens: 512, prices: { prompt: 1, completion: 2 } }],
    });
  });
  afterAll(() => system.stop());

  const inFlight = (): Promise<true> =>
    eventually("a request in flight", () =>
      Promise.resolve(
        Object.entries(system.stages.reports()).some(
          ([name, { inFlight }]) => name.includes("small") && inFlight > 0,
        ) || undefined,
      ),
    );

  async function kill(): Promise<number> {
    const pid = await eventually("the arm's process", () => Promise.resolve(llamaProcess()));
    process.kill(pid, "SIGKILL");
    return pid;
  }

  test("a response says what it took: tokens, those found in memory, waiting, first token", async () => {
    const asked = {
      privacy: { cache: true, share: true, fresh: true },
      params: { maxTokens: 4, temperature: null, topP: null, seed: null, stop: [] },
    };
    const question = "Which command lists the files of a folder? ".repeat(12);
    const first = await system.ask(question, asked);
    const second = await system.ask(question, asked);
    expect(first).toMatchObject({ status: "ok", attempt: 1, source: "generated" });
    expect(first.usage).toMatchObject({ prefilled: first.usage.prompt, linked: 0, recomputed: 0, completion: 4 });
    expect(first.cost).toBeCloseTo((first.usage.prompt + 2 * first.usage.completion) / 1e6, 12);
    // All but the opening of the answer.
    expect(second.usage.prompt).toBe(first.usage.prompt);
    expect(second.usage.prefilled).toBeLessThan(8);
    expect(second.usage.linked).toBe(second.usage.prompt - second.usage.prefilled);
    for (const { timings } of [first, second]) {
      expect(timings.queue).toBeGreaterThanOrEqual(0);
      expect(timings.firstToken).toBeGreaterThan(0);
      expect(timings.firstToken).toBeLessThanOrEqual(timings.total);
    }
    // Neither another tenant nor a request without caches learns what was asked before.
    const other = await system.ask(question, { ...asked, tenant: "other" });
    const secret = await system.ask(question, { ...asked, privacy: { ...asked.privacy, cache: false } });
    expect([other.usage, secret.usage]).toEqual([first.usage, first.usage]);
  });

  test("requests behind a long one count the wait as queue time", async () => {
    const requests = [long(), long(), long()];
    await system.produce(requests);
    const responses = await Promise.all(requests.map(({ id }) => system.response(id)));
    const inOrder = responses.map(({ timings }) => timings).sort((a, b) => a.total - b.total);
    // One at a time: the last can't have been begun before the one before it was done.
    expect(
      inOrder.map(({ queue, firstToken, total }) => queue <= (firstToken ?? 0) && (firstToken ?? 0) <= total),
    ).toEqual([true, true, true]);
    expect(inOrder[2]?.queue).toBeGreaterThan(inOrder[0]?.queue ?? Infinity);
  });

  test("a request in flight when the process is killed is answered once, from the next process", async () => {
    const requests = [long(), long({ createdAt: Date.now() })];
    await system.produce(requests);
    await inFlight();
    const killed = await kill();
    const responses = await Promise.all(requests.map(({ id }) => system.response(id)));
    expect(responses.map(({ status, error }) => [status, error])).toEqual([
      ["ok", null],
      ["ok", null],
    ]);
    const after = await system.ask("list files");
    expect(after.status).toBe("ok");
    expect(llamaProcess()).not.toBe(killed);
    for (const { id } of requests) expect(system.responses.get(id)).toHaveLength(1);
  });

  const slow = { timeout: 300_000 };
  test(
    "a request whose process is killed again and again fails once, with its code, and the stage goes on",
    slow,
    async () => {
      const request = long({ params: { maxTokens: 400, temperature: 1, topP: null, seed: 1, stop: ["<none>"] } });
      await system.produce([request]);
      await inFlight();
      const response = system.response(request.id);
      let done = false;
      void response.then(() => (done = true));
      while (!done) {
        const pid = llamaProcess();
        if (pid !== undefined) process.kill(pid, "SIGKILL");
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      expect(await response).toMatchObject({ status: "failed", source: "none", error: { code: "model_failed" } });
      // On a quick machine the second attempt is begun before its process is killed too; on a slow
      // one it never is.
      expect([1, 2]).toContain((await response).attempt);
      // The next process starts only after a pause, and loads the model.
      await eventually(
        "the stage answers again",
        async () => ((await system.ask("list files")).status === "ok" ? true : undefined),
        180_000,
      );
      expect(system.responses.get(request.id)).toHaveLength(1);
    },
  );
});
