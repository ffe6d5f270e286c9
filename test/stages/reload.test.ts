// Arms are added, changed and removed while requests flow; nothing is lost and no process restarts,
// with inline and with queued arms.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { armSchema, type ArmConfig } from "../../config/schema.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const only = (arm: string) => ({ allow: { arms: [arm], maxCost: null, deadlineMs: 20_000, costWeight: null } });

describe.each(["queued", "inline"])("arms that are %s", (dispatch) => {
  let system: TestSystem;
  let folder: string;

  async function recorded(name: string, answer: string, latencyMs = 0): Promise<ArmConfig> {
    const file = join(folder, `${name}-${answer}.jsonl`);
    await writeFile(file, JSON.stringify({ request: "who are you", response: answer }));
    return armSchema.parse({ name, type: "recorded", dispatch, file, latencyMs });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-reload-"));
    system = await startSystem({ arms: [await recorded("first", "one")] });
  });
  afterAll(async () => {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("an added arm answers, a changed one answers anew", async () => {
    expect(await system.ask("who are you", only("second"))).toMatchObject({ error: { code: "unknown_arm" } });
    await system.stages.replaceArms([await recorded("first", "uno"), await recorded("second", "two", 1_500)]);
    expect(await system.ask("who are you", only("second"))).toMatchObject({ status: "ok", text: "two" });
    expect(await system.ask("who are you", only("first"))).toMatchObject({ status: "ok", text: "uno" });
  });

  test("a removed arm finishes what it was given", async () => {
    const underWay = system.ask("who are you", only("second"));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await system.stages.replaceArms([await recorded("first", "uno")]);
    expect(await underWay).toMatchObject({ status: "ok", text: "two" });
    expect(await system.ask("who are you", only("second"))).toMatchObject({ error: { code: "unknown_arm" } });
  });

  test("an arm that can't be made changes nothing", async () => {
    const broken = armSchema.parse({ name: "broken", type: "recorded", dispatch, file: join(folder, "nowhere.jsonl") });
    await expect(system.stages.replaceArms([broken])).rejects.toThrow(/nowhere/);
    expect(await system.ask("who are you", only("first"))).toMatchObject({ status: "ok", text: "uno" });
  });
});
