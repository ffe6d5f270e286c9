// Which stages of tenants run while tenants come and go, and in which order.
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import type { RunningStage } from "../runtime/running-stage.ts";
import { startTenantStages, type TenantStage } from "./tenant-stages.ts";
import { createTenants, sameTenants, type ConfiguredTenants } from "../state/tenants.ts";

const of = (...names: string[]): ConfiguredTenants =>
  Object.fromEntries(names.map((name) => [name, { deltas: false }]));

async function setUp(initial: ConfiguredTenants, refused: readonly string[] = []) {
  const reported: string[] = [];
  const tenants = createTenants(initial);
  const stage = (name: string, readsTopics: boolean): TenantStage => ({
    readsTopics,
    open() {
      const names = tenants.names().join();
      if (tenants.names().some((one) => refused.includes(one))) return Promise.reject(new Error(`no ${names}`));
      reported.push(readsTopics ? `start ${name} of ${names}` : `start ${name}`);
      return Promise.resolve({
        name,
        stop: () => Promise.resolve(void reported.push(`stop ${name}`)),
      } as unknown as RunningStage);
    },
  });
  const session = {
    ...{ tenants, log: pino({ level: "silent" }) },
    prepareTenants(next: ConfiguredTenants) {
      reported.push(`prepare ${Object.keys(next).join()}`);
      return Object.keys(next).includes("unmade") ? Promise.reject(new Error("no topics")) : Promise.resolve();
    },
  };
  const stages = await startTenantStages(session, [stage("in", true), stage("out", false)]);
  onTestFinished(() => stages.stop());
  const running = (): string[] => stages.stages().map(({ name }) => name);
  return { stages, tenants, reported, running };
}

it("makes topics first, and begins anew only what reads them", async () => {
  const { stages, reported } = await setUp(of("a"));
  await stages.replace(of("a", "b"));
  expect(reported).toEqual(["start in of a", "start out", "prepare a,b", "stop in", "start in of a,b"]);
});

it("begins nothing anew where the tenants are the same, however they are written", async () => {
  const { stages, reported, tenants } = await setUp(of("a", "b"));
  await stages.replace(of("b", "a"));
  expect(reported).toEqual(["start in of a,b", "start out"]);
  await stages.replace({ ...of("a"), b: { deltas: true } });
  expect(reported.slice(2)).toEqual(["prepare a,b"]);
  expect(tenants.isStreaming("b")).toBe(true);
});

it("runs none without tenants, and all with the first", async () => {
  const { stages, running } = await setUp({});
  expect(running()).toEqual([]);
  await stages.replace(of("a"));
  expect(running()).toEqual(["in", "out"]);
  await stages.replace({});
  expect(running()).toEqual([]);
});

it("changes nothing where topics can't be made, and goes back where stages can't", async () => {
  const { stages, tenants, reported, running } = await setUp(of("a"), ["bad"]);
  await expect(stages.replace(of("a", "unmade"))).rejects.toThrow("no topics");
  expect([tenants.names(), running()]).toEqual([["a"], ["in", "out"]]);
  await expect(stages.replace(of("a", "bad"))).rejects.toThrow("no a,bad");
  expect([tenants.names(), running().sort()]).toEqual([["a"], ["in", "out"]]);
  expect(reported.slice(-2)).toEqual(["stop in", "start in of a"]);
  await stages.replace(of("c"));
  expect(tenants.names()).toEqual(["c"]);
});

it("makes one change after the other, and none once it is stopped", async () => {
  const { stages, tenants, reported } = await setUp(of("a"));
  await Promise.all([stages.replace(of("b")), stages.replace(of("c"))]);
  expect(reported.filter((one) => one.startsWith("start in"))).toEqual([
    "start in of a",
    "start in of b",
    "start in of c",
  ]);
  await stages.stop();
  await stages.replace(of("d"));
  expect(tenants.names()).toEqual(["c"]);
  expect(stages.stages()).toEqual([]);
});

it("knows tenants apart by name and by what they ask for", () => {
  expect(sameTenants(of("a"), of("b"))).toBe(false);
  expect(createTenants(of("a")).has("constructor")).toBe(false);
});
