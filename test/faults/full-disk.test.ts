// The disk is full for a while under Kafka, ClickHouse, the example store and the documents, under
// load, with the real stages as processes: what they can't write they don't acknowledge, and when
// there is room again all goes on and nothing is lost. The disk is that of every process of the
// rig: writes fail with ENOSPC, some of them in the middle (faults/full-disk.c).
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { putDocuments } from "../../cli/documents.ts";
import { importPairs } from "../../cli/examples.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { stackFolder } from "../../stack/folder.ts";
import { check } from "./support/checks.ts";
import { fillableDisk, type FullDisk } from "./support/full-disk.ts";
import { recover } from "./support/recovery.ts";
import { createRig, question, type Rig } from "./support/rig.ts";
import { eventually, requestOf } from "../support/system.ts";

const dataOf = (name: string) => (of: Rig) => join(stackFolder(of.folder).data, name);

const compiles = spawnSync("gcc", ["--version"]).status === 0;
describe.skipIf(!compiles)("a full disk (needs gcc)", () => {
  let disk: FullDisk;
  let rig: Rig;

  beforeAll(async () => {
    disk = fillableDisk();
    const slots = (["plan", "generate", "record"] as const).map((stage) => ({ stage, instance: `${stage}-a` }));
    rig = await createRig({ slots, perSecond: 20, keep: process.env.PRECEDENT_KEEP !== undefined });
  }, 240_000);
  afterAll(async () => {
    await rig?.stop();
    disk.restore();
  });

  test(
    "the disk is full under Kafka: it ends, and is started again until there is room",
    { timeout: 400_000 },
    async () => {
      await sleep(2_000);
      const before = await rig.pidOf("kafka");
      const { stalled, missing } = await recover(rig, disk.fault("no room for Kafka", dataOf("kafka"), 12_000));
      expect({ stalled, missing }).toEqual({ stalled: false });
      // It did meet the full disk.
      expect(await rig.pidOf("kafka")).not.toBe(before);
    },
  );

  test(
    "the disk is full under ClickHouse: requests are answered, and recorded afterwards",
    { timeout: 400_000 },
    async () => {
      const answered = rig.oracle.answered();
      let meanwhile = 0;
      const fault = disk.fault("no room for ClickHouse", dataOf("clickhouse"), 8_000, () => {
        meanwhile = rig.oracle.answered() - answered;
        return Promise.resolve();
      });
      const { stalled, missing } = await recover(rig, fault);
      expect({ stalled, missing }).toEqual({ stalled: false });
      expect(meanwhile).toBeGreaterThan(80);
    },
  );

  test(
    "the disk is full under the example store: requests are answered, examples come when there is room",
    { timeout: 400_000 },
    async () => {
      const { session } = rig;
      const answered = rig.oracle.answered();
      let meanwhile = 0;
      const fault = disk.fault(
        "no room for examples",
        (of) => join(of.folder, "pools"),
        8_000,
        async () => {
          meanwhile = rig.oracle.answered() - answered;
        },
      );
      const importing = sleep(1_000).then(async () => {
        const embedder = await openEmbedder(session.config, { log: session.log });
        const file = join(rig.folder, "pairs.jsonl");
        await writeFile(file, JSON.stringify({ request: question, response: "date +%H:%M" }));
        await importPairs({ session, embedder, file, options: { tenant: "default" } });
        await embedder.close();
      });
      const [{ stalled, missing }] = await Promise.all([recover(rig, fault), importing]);
      expect({ stalled, missing }).toEqual({ stalled: false });
      expect(meanwhile).toBeGreaterThan(80);
      const id = exampleId(sharingDomain("default", null), question, "date +%H:%M");
      await eventually("the example that came when there was no room is shown", async () => {
        const rows = await session.clickhouse.query(
          "SELECT 1 FROM example_uses FINAL WHERE example_id = {id:String} LIMIT 1",
          { id },
        );
        return rows[0];
      });
    },
  );

  test(
    "the disk is full under the documents: requests are answered, documents come when there is room",
    { timeout: 400_000 },
    async () => {
      const { session, oracle } = rig;
      const fault = disk.fault("no room for documents", (of) => join(of.folder, "documents"), 6_000);
      const manual = {
        tenant: "default",
        id: "manual",
        text: "How to tell the time.",
        title: null,
        expiresAt: null,
        createdAt: 1,
      };
      const putting = sleep(1_000).then(() => putDocuments(session, [manual]));
      const [{ stalled, missing }] = await Promise.all([recover(rig, fault), putting]);
      expect({ stalled, missing }).toEqual({ stalled: false });
      await eventually("the document that came when there was no room is known", async () => {
        const request = requestOf(question, { documents: [manual.id] });
        await oracle.send([request]);
        return eventually("the response", async () => {
          const rows = await session.clickhouse.query<{ code: string | null }>(
            "SELECT error_code AS code FROM responses FINAL WHERE request_id = {id:String}",
            { id: request.id },
          );
          return rows[0] && (rows[0].code ?? "none");
        }).then((code) => (code === "unknown_document" ? undefined : true));
      });
    },
  );

  test("nothing was lost, and nothing came twice", { timeout: 400_000 }, async () => {
    await rig.load.stop();
    const { issued, lost, doubled, violations } = await check(rig);
    expect({ lost, doubled, violations }).toEqual({ lost: 0, doubled: 0, violations: [] });
    expect(issued).toBeGreaterThan(500);
  });
});
