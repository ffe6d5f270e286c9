// The check itself, on logs written by hand.
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stackFolder } from "../../stack/folder.ts";
import { writeState } from "../../stack/state.ts";
import { brokerDefects } from "./kafka-log.ts";

// As Kafka 4.3.1 wrote it.
const line =
  "[2026-11-20] INFO Couldn't find leader endpoint for partitions [in-1] while trying to send transaction markers for g.a, these partitions are likely deleted already and hence can be skipped";
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-log-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("finds dropped markers of this life of the stack, and not those of a former one", async () => {
  const { logs, state } = stackFolder(folder);
  expect(await brokerDefects(folder)).toEqual([]);
  await mkdir(logs, { recursive: true });
  await writeFile(join(logs, "kafka.log"), `all is well\n`);
  await writeFile(join(logs, "kafka.log.1"), `${line}\n`);
  const server = { status: "ready" as const, restarts: 0 };
  writeState(state, {
    supervisor: { pid: 1, started: "x" },
    startedAt: new Date().toISOString(),
    token: "0123456789abcdef",
    servers: { kafka: server, registry: server, clickhouse: server },
  });
  const old = new Date(Date.now() - 60_000);
  await utimes(join(logs, "kafka.log.1"), old, old);
  expect(await brokerDefects(folder)).toEqual([]);
  // Moved there because the log had grown too large.
  await utimes(join(logs, "kafka.log.1"), new Date(), new Date());
  expect(await brokerDefects(folder)).toEqual([line]);
  await writeFile(join(logs, "kafka.log"), `all is well\n${line}\n`);
  expect(await brokerDefects(folder)).toEqual([line, line]);
});
