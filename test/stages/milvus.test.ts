// Examples in Milvus, on the whole system: curate writes what others import, requests are shown
// it, of their own tenant only. Milvus is killed while requests go on: they are answered, and say
// that similarity is degraded; what is removed meanwhile is shown no more, before Milvus is back
// and after.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { importPairs } from "../../cli/examples.ts";
import { checkMilvus } from "../../cli/doctor-milvus.ts";
import { startLite } from "../../connections/milvus/lite.testing.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { exampleMessages } from "../../pipelines/curate/example-messages.ts";
import type { Decision } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const lite = await startLite();
const subjects = ["compress a folder", "show the free disk space", "count the lines of a file", "print a calendar"];
const tenants = ["acme", 'o"brien || "', "beta"];
const pairOf = (tenant: string, i: number) => ({
  ...{ tenant, domain: "shell" },
  request: `How do I ${subjects[i]}?`,
  response: `as ${tenant} does, number ${i}`,
});
const idOf = (tenant: string, i: number): string => {
  const { domain, request, response } = pairOf(tenant, i);
  return exampleId(sharingDomain(tenant, domain), request, response);
};

describe.skipIf("reason" in lite)(`with milvus-lite${"reason" in lite ? ` (${lite.reason})` : ""}`, () => {
  if ("reason" in lite) return;
  let folder: string;
  let system: TestSystem;
  let stopFollowing: () => Promise<void>;
  const decisions = new Map<string, Decision>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-milvus-test-"));
    const file = join(folder, "pairs.jsonl");
    const pairs = tenants.flatMap((tenant) => subjects.map((_, i) => JSON.stringify(pairOf(tenant, i))));
    await writeFile(file, pairs.join("\n"));
    system = await startSystem({
      selection: { index: "milvus", milvus: { address: lite.address } },
      curate: { everyMs: 300 },
      arms: [{ name: "only", type: "recorded", file, cost: 0.1, examples: true }],
    });
    const tail = await follow(system.session, "decisions", (decision) => decisions.set(decision.requestId, decision));
    stopFollowing = tail.stop;
    const embedder = await openEmbedder(system.config, { log: system.session.log });
    await importPairs({ session: system.session, embedder, file, options: { tenant: "acme" } });
    await embedder.close();
  }, 300_000);
  afterAll(async () => {
    await stopFollowing();
    await system.stop();
    await lite.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const withinMs = 180_000;
  interface Shown {
    ids: string[];
    degraded: string[];
  }
  async function ask(tenant: string, i: number): Promise<Shown> {
    const { domain, request } = pairOf(tenant, i);
    const { requestId, status } = await system.ask(request, { tenant, domain });
    expect(status).toBe("ok");
    return system.eventually("the decision", () => {
      const decision = decisions.get(requestId);
      if (decision === undefined) return Promise.resolve(undefined);
      const ids = decision.arms.flatMap(({ examples }) => examples.map(({ id }) => id));
      return Promise.resolve({ ids, degraded: decision.degraded });
    });
  }
  const until = (what: string, tenant: string, i: number, holds: (shown: Shown) => boolean): Promise<Shown> =>
    system.eventually(
      what,
      async () => {
        const shown = await ask(tenant, i);
        return holds(shown) ? shown : undefined;
      },
      withinMs,
    );

  test("requests are shown what was imported, of their own tenant only", { timeout: 300_000 }, async () => {
    for (const tenant of tenants)
      for (const i of subjects.keys()) {
        const own = (shown: Shown): boolean => shown.ids.includes(idOf(tenant, i)) && shown.degraded.length === 0;
        const { ids } = await until(`${tenant} ${i} is found`, tenant, i, own);
        const all = subjects.map((_, other) => idOf(tenant, other));
        expect(ids.filter((id) => !all.includes(id))).toEqual([]);
      }
    const { ids, degraded } = await ask("a stranger", 0);
    expect(ids).toEqual([]);
    expect(degraded.filter((one) => one !== "similarity")).toEqual([]);
  });

  test("doctor says what the collection holds, and what does not fit", async () => {
    const { config } = system;
    expect(await checkMilvus(config, Date.now())).toMatchObject({
      ...{ state: "fine", detail: expect.stringContaining("12 examples, 384 numbers of") as string },
    });
    expect(await checkMilvus(config, Date.now() + 90_000_000)).toMatchObject({ state: "lacking" });
    const milvus = { ...config.selection.milvus!, collection: "another" };
    const elsewhere = { ...config, selection: { ...config.selection, milvus } };
    expect(await checkMilvus(elsewhere, Date.now())).toMatchObject({ state: "waiting" });
  });

  test("Milvus is killed amid requests: they go on, and find it again", { timeout: 300_000 }, async () => {
    const asking = Array.from({ length: 40 }, (_, i) => ask("acme", i % subjects.length));
    await lite.kill();
    for (const { degraded } of await Promise.all(asking)) expect(["", "similarity"]).toContain(degraded.join());
    const popular = (shown: Shown): boolean => shown.degraded.includes("similarity");
    expect((await until("similarity is degraded", "acme", 1, popular)).ids).toContain(idOf("acme", 1));

    const { session } = system;
    const gone = { id: idOf("acme", 1), domain: sharingDomain("acme", "shell"), value: null };
    await session.kafka.plainProducer().send(await exampleMessages(session, [gone]));
    await until("the removed one is gone", "acme", 1, ({ ids }) => !ids.includes(gone.id));
    await lite.start();
    const shownSince: string[] = [];
    const healthy = ({ ids, degraded }: Shown): boolean => shownSince.push(...ids) >= 0 && degraded.length === 0;
    await until("Milvus is searched again", "acme", 1, healthy);
    expect(shownSince).not.toContain(gone.id);
    expect((await ask("acme", 2)).ids).toContain(idOf("acme", 2));
  });
});
