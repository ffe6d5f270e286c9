// Spend limits of API keys while ClickHouse hangs, on a stack of the test's own: a gateway that
// knows what was spent goes on with its share of what was left, one that never knew says that it
// does not (503 with Retry-After), and keys without a spend limit notice nothing. Afterwards all of
// it counts.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGateway, type RunningGateway } from "../../pipelines/gateway/start.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { stageNames, startStages, type RunningStages } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { createLog } from "../../runtime/log.ts";
import { attachStack, stopStack } from "../../stack/attach.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { withServerHung } from "../support/servers.ts";
import { eventually, testConfig } from "../support/system.ts";

let folder: string;
let model: TestModel;
let session: Session;
let stages: RunningStages;
let second: RunningGateway | undefined;

noBrokerDefects(() => folder);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-spend-limits-away-"));
  model = await startModel();
  const stack = await attachStack(folder, { start: true });
  const prices = { prompt: 1_000, completion: 1_000 };
  const arms = [{ name: "mock", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, prices }];
  const config = testConfig({ arms, limits: { drainMs: 1_000 } }, folder, stack);
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(config));
  session = await openSession(config, { log: createLog({ level: config.log.level }), start: false });
  stages = await startStages(session, { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") });
}, 240_000);
afterAll(async () => {
  await second?.stop();
  await stages.stop();
  await session.close();
  await model.stop();
  await stopStack(folder);
  await rm(folder, { recursive: true, force: true });
});

async function create(...argv: string[]): Promise<string> {
  const { code, out, note } = await runCommand(folder, ["keys", "create", ...argv]);
  expect(code, note).toBe(0);
  const key = out.trim();
  await eventually("the key", async () => {
    const { status } = await fetch(`${stages.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } });
    return status === 200 ? true : undefined;
  });
  return key;
}
const ask = (apiKey: string, baseURL = stages.baseUrl ?? "") =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 }).chat.completions.create({
    ...{ model: "mock", messages: [{ role: "user", content: "hello" }] },
  });
const unknown = { status: 503, code: "spend_limit_unknown" };

test(
  "who knows goes on with a share, who does not says so, and others notice nothing",
  { timeout: 300_000 },
  async () => {
    const free = await create();
    const { response } = await ask(free).withResponse();
    const cost = Number(response.headers.get("x-precedent-cost"));
    const key = await create("--spend-limit-per-day", String(20.5 * cost));
    const account = key.split(".")[0];
    const answers = async (): Promise<number> => {
      const [row] = await session.clickhouse.query<{ sum: number }>(
        "SELECT sum(cost) AS sum FROM account_costs FINAL WHERE account = {account:String}",
        { account },
      );
      return Math.round(Number(row?.sum) / cost);
    };
    await ask(key);
    await eventually("the first cost", async () => ((await answers()) === 1 ? true : undefined));

    let given = 1;
    await withServerHung(folder, "clickhouse", async () => {
      // It holds no sum of anybody.
      second = await startGateway(session, "gateway-b");
      const error = await ask(key, second.baseUrl).catch((cause: unknown) => cause);
      expect(error).toMatchObject(unknown);
      expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after")).toBe("2");
      await ask(free, second.baseUrl);
      // Long enough for the other one's sum to be too old, and the gateways to be counted.
      await eventually("the end of its share", () =>
        ask(key).then(
          () => {
            given++;
            return undefined;
          },
          (cause: unknown) => {
            expect(cause).toMatchObject(unknown);
            return true as const;
          },
        ),
      );
      await ask(free);
    });
    expect(given).toBeGreaterThan(5);
    expect(given).toBeLessThan(20);

    await eventually("all costs", async () => ((await answers()) === given ? true : undefined));
    const all = await eventually("the rest of the spend limit", () =>
      ask(key).then(
        () => {
          given++;
          return undefined;
        },
        (cause: unknown) => ((cause as { code?: string }).code === "insufficient_quota" ? given : undefined),
      ),
    );
    expect(all).toBe(21);
  },
);
