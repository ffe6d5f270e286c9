// precedent doctor on a cluster where transactions hang: it reports each with its remedy, and ends
// them with --repair.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../cli/run.testing.ts";
import type { Check } from "../../cli/doctor-check.ts";
import { leaveHanging, verification } from "../support/hanging.ts";
import { createTestKafka, type TestKafka } from "../support/kafka.ts";
import { testStack, uniquePrefix } from "../support/stack.ts";

let its: TestKafka;
let folder: string;
beforeAll(async () => {
  its = createTestKafka();
  await verification(its.client, "false");
  folder = await mkdtemp(join(tmpdir(), "precedent-doctor-"));
});
afterAll(async () => {
  await verification(its.client);
  await its.close();
  await rm(folder, { recursive: true });
});

test("names what hangs, leaves it, and ends it with --repair", async () => {
  const prefix = uniquePrefix();
  const { brokers, registryUrl, clickhouse } = testStack();
  const config = {
    kafka: { brokers, prefix },
    registry: { url: registryUrl },
    clickhouse,
    arms: [{ name: "a", type: "openai", model: "m", baseUrl: "http://127.0.0.1:1" }],
  };
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(config));
  const doctor = async (...more: string[]): Promise<Check | undefined> => {
    const { out } = await runCommand(folder, ["doctor", "--json", ...more]);
    return (JSON.parse(out) as Check[]).find(({ name }) => name === "transactions");
  };
  const [requests, decisions, reported] = [`${prefix}requests`, `${prefix}decisions`, `${prefix}told`];
  const admin = its.client.admin();
  await admin.connect();
  await admin.createTopics({
    topics: [requests, decisions, reported].map((topic) => ({ topic })),
    waitForLeaders: true,
  });
  expect(await doctor()).toMatchObject({ state: "fine", detail: "none hangs" });

  const id = `${prefix}plan.one`;
  await leaveHanging({
    ...{ client: its.client, id, group: `${prefix}plan`, input: requests, output: decisions },
    reported: { topic: reported, outcome: "commit" },
  });
  // Where a group is known by its offsets alone, the broker lists it once they are committed.
  await admin.setOffsets({ groupId: `${prefix}plan`, topic: reported, partitions: [{ partition: 0, offset: "0" }] });
  await admin.disconnect();
  const before = await doctor();
  expect(before?.state).toBe("missing");
  expect(before?.detail).toMatch(/^2 hang/);
  expect(before?.detail).toMatch(new RegExp(`${decisions}-0 from offset 0, .* epoch 0, of ${id}; .* CompleteCommit`));
  expect(before?.detail).toContain("__consumer_offsets-0");
  expect(before?.remedy).toContain("precedent doctor --repair");
  // Readers wait in front of it: the last stable offset is where it begins.
  expect((await its.kafka.spans(decisions))[0]?.end).toBe(0);

  expect(await doctor("--repair")).toMatchObject({
    state: "fine",
    detail: expect.stringContaining("2 ended") as string,
  });
  expect(await its.keys(decisions)).toEqual(["hung"]);
  expect((await its.kafka.lag(`${prefix}plan`, requests))[0]?.committed).toBe(1);
  expect(await doctor()).toMatchObject({ state: "fine", detail: "none hangs" });
});
