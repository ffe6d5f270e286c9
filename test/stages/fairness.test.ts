// One tenant cannot take the places of another: not with repeats of a request that is under way,
// not with a flood. And an id means one request of one tenant. Verified by what is answered before
// what, never by the clock.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startStages } from "../../pipelines/up.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

let system: TestSystem;
let folder: string;
let endpoint: Server;
/** Calls of the remote model that wait for the test to answer them. */
const open: ServerResponse[] = [];
const inFlight = 32;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-fairness-"));
  const file = join(folder, "log.jsonl");
  await writeFile(
    file,
    ["hello", "other"].map((request) => JSON.stringify({ request, response: `re: ${request}` })).join("\n"),
  );
  endpoint = createServer((request, response) => {
    request.resume();
    open.push(response);
  });
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  system = await startSystem(
    {
      limits: { inFlight },
      arms: [
        { name: "recorded", type: "recorded", dispatch: "queued", file },
        {
          name: "remote",
          type: "openai",
          baseUrl,
          model: "fake",
          stream: false,
          retries: 0,
          timeoutMs: 120_000,
          dispatch: "queued",
        },
      ],
    },
    { stages: ["plan", "generate", "record"] },
  );
});
afterAll(async () => {
  await system.stop();
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

const on = (arm: string, deadlineMs = 100_000): Partial<Request> => ({
  allow: { arms: [arm], maxCost: null, deadlineMs, costWeight: null },
});
const answers = (id: string): readonly Response[] => system.responses.get(id) ?? [];
const until = (what: string, wanted: () => boolean): Promise<boolean> =>
  eventually(what, () => Promise.resolve(wanted() ? true : undefined), 90_000);
const complete = (response: ServerResponse | undefined): void => {
  const message = { role: "assistant", content: "at last" };
  const body = {
    id: "x",
    object: "chat.completion",
    model: "fake",
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
  response
    ?.setHeader("content-type", "application/json")
    .end(JSON.stringify({ ...body, usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }));
};

test("300 repeats of a request that is under way delay no other request, and each gets the one answer", async () => {
  const slow = requestOf("think long", { id: "slow", tenant: "loud", ...on("remote") });
  await system.produce([slow]);
  await until("the call of the model", () => open.length === 1);
  await system.produce(Array.from({ length: 300 }, () => slow));

  const latencies: number[] = [];
  for (let i = 0; i < 5; i++) {
    const began = performance.now();
    expect(await system.ask("hello", { tenant: "quiet", ...on("recorded") })).toMatchObject({ status: "ok" });
    latencies.push(Math.round(performance.now() - began));
  }
  // All of them were answered while the first answer of the other tenant was still to come.
  expect(answers("slow")).toEqual([]);
  expect(open).toHaveLength(1);
  console.log(`a quiet tenant beside 300 repeats, ${inFlight} slots: ${latencies.join(", ")} ms`);

  complete(open[0]);
  await until("301 answers", () => answers("slow").length === 301);
  expect(open).toHaveLength(1);
  const copies = answers("slow").filter(({ duplicate }) => duplicate);
  expect(copies).toHaveLength(300);
  for (const copy of answers("slow")) expect(copy).toMatchObject({ status: "ok", text: "at last", tenant: "loud" });
});

test("a flood of one tenant: another's requests pass it", async () => {
  const flood = Array.from({ length: 3_000 }, (_, i) =>
    requestOf("hello", { id: `flood-${i}`, tenant: "loud", ...on("recorded") }),
  );
  const answered = (): number => flood.filter(({ id }) => answers(id).length > 0).length;
  await system.produce(flood);
  const quiet = await Promise.all([1, 2, 3].map(() => system.ask("other", { tenant: "quiet", ...on("recorded") })));
  const before = answered();
  expect(quiet.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
  console.log(`a quiet tenant beside a flood of ${flood.length}: answered after ${before} of them`);
  expect(before).toBeLessThan(flood.length / 2);
  await until("the flood", () => answered() === flood.length);
});

test("the same id from two tenants is two requests", async () => {
  const mine = requestOf("hello", { id: "shared", tenant: "one", ...on("recorded") });
  await system.produce([mine, { ...mine, tenant: "two", messages: [{ role: "user", content: "other" }] }]);
  await until("both answers", () => answers("shared").length === 2);
  const byTenant = Object.fromEntries(
    answers("shared").map(({ tenant, text, duplicate }) => [tenant, [text, duplicate]]),
  );
  expect(byTenant).toEqual({ one: ["re: hello", false], two: ["re: other", false] });
});

test("an id that is used again for another text is refused, before and after a restart of plan", async () => {
  const first = requestOf("hello", { id: "reused", tenant: "one", ...on("recorded") });
  const other = { ...first, messages: [{ role: "user" as const, content: "other" }] };
  await system.produce([first]);
  await system.response("reused");
  await system.produce([other]);
  await until("the refusal", () => answers("reused").length === 2);
  const refusal = { status: "refused", duplicate: true, text: "", error: { code: "id_reused" } };
  expect(answers("reused")[1]).toMatchObject(refusal);
  const { clickhouse } = system.session;
  await system.eventually("its rows", async () => {
    const rows = await clickhouse.query<{ duplicate: boolean; status: string }>(
      "SELECT duplicate, status FROM responses FINAL WHERE request_id = 'reused' ORDER BY duplicate",
    );
    return rows.length === 2 && rows[0]?.status === "ok" && rows[1]?.status === "refused" ? true : undefined;
  });

  await system.stages.stop();
  const again = await startStages(system.session, { stages: ["plan", "generate", "record"] });
  try {
    await system.produce([other, first]);
    await until("both repeats", () => answers("reused").length === 4);
    const [one, two] = answers("reused")
      .slice(2)
      .map(({ status, duplicate }) => [status, duplicate]);
    expect([one, two].sort()).toEqual([
      ["ok", true],
      ["refused", true],
    ]);
  } finally {
    await again.stop();
  }
});
