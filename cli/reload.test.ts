import { expect, it, vi } from "vitest";
import { parseConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { reload } from "./reload.ts";

const config = (more = "", arm = "small"): Config =>
  parseConfig(`arms: [{ name: ${arm}, type: recorded, file: log.jsonl }]\n${more}`, {
    ...{ source: "precedent.yaml", folder: "/", environment: { PASSWORD: "secret" } },
  });

async function reloaded(next: () => Config, before = config()) {
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const replaceArms = vi.fn(() => Promise.resolve());
  const running = { replaceArms, replaceTenants: () => Promise.resolve() };
  const isInForce = await reload({ running, config: before, reread: next, log });
  return { log, replaceArms, isInForce };
}

it("changes arms and tenants, and says nothing else", async () => {
  const next = config("tenants: { acme: { principal: User:acme } }", "large");
  const { isInForce, replaceArms, log } = await reloaded(() => next);
  expect(isInForce).toBe(true);
  expect(replaceArms).toHaveBeenCalledExactlyOnceWith(next.arms);
  expect(log.info).toHaveBeenCalledWith({ tenants: ["acme"] }, "tenants reloaded");
  expect(log.warn).not.toHaveBeenCalled();
});

it("names the keys that need a restart, without their values", async () => {
  const text = `
routing: { costWeight: 0.9 }
clickhouse: { password: "\${PASSWORD}" }
instance: plan-1`;
  const next = config(text, "large");
  const { isInForce, replaceArms, log } = await reloaded(() => next);
  expect(replaceArms).toHaveBeenCalledExactlyOnceWith(next.arms);
  expect(isInForce).toBe(false);
  expect(log.warn.mock.calls).toEqual([
    [{ keys: ["clickhouse.password", "routing.costWeight", "instance"] }, expect.stringContaining("restart")],
  ]);
  const back = await reloaded(() => config(), config("sharing: {}\ninstance: plan-1"));
  expect(back.log.warn.mock.calls[0]?.[0]).toEqual({ keys: ["instance"] });
});

it("changes nothing where the file is invalid", async () => {
  const { isInForce, replaceArms, log } = await reloaded(() => config("routing: { costWeight: x }"));
  expect([isInForce, replaceArms.mock.calls]).toEqual([false, []]);
  expect(log.error).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("routing.costWeight"));
});
