// The commands of docs/getting-started.md, as a new user types them, with a local endpoint. The
// servers are those of the tests; `npm run check:start` starts its own, in a fresh clone.
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { followGettingStarted, readSteps } from "../../tools/getting-started.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { databaseName, testStack, uniquePrefix } from "../support/stack.ts";

let folder: string;
let model: TestModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-getting-started-"));
  model = await startModel();
  // Where npx looks for the command, as in a checkout.
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  const command = fileURLToPath(new URL("../../tools/bin/precedent", import.meta.url));
  await symlink(command, join(folder, "node_modules/.bin/precedent"));
});
afterAll(async () => {
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("the first hour works as it is written", { timeout: 300_000 }, async () => {
  const { brokers, registryUrl, clickhouse } = testStack();
  const port = await freePort();
  const appended = stringify({
    kafka: { brokers, prefix: uniquePrefix(), partitions: 4 },
    registry: { url: registryUrl },
    clickhouse: { ...clickhouse, database: databaseName() },
    gateway: { port },
  });
  const { outputs } = await followGettingStarted({
    ...{ folder, appended, port },
    // CI: in pipes, output has no colors there either.
    environment: { ...process.env, CI: "1", OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: "a-key" },
  });
  const printed = (part: string): string => [...outputs].find(([command]) => command.includes(part))?.[1] ?? "";
  expect(outputs.size).toBe(readSteps().commands.length - 1);
  expect(printed("config check")).toContain("precedent.yaml: fine");
  // The model answers with the question.
  expect(printed("ask")).toMatch(/^list hidden files\n[^]*large[^]*^request /m);
  expect(JSON.parse(printed("curl"))).toMatchObject({ choices: [{ message: { content: "list hidden files" } }] });
  expect(printed("feedback")).toMatch(/^[0-9a-f-]{36}\n$/);
  expect(printed("explain")).toMatch(/large, chosen with probability/);
  expect(printed("sql")).toMatch(/question.*arm.*reward/);
  expect(model.received()).not.toHaveLength(0);
});
