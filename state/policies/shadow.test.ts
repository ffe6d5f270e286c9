import { describe, expect, it } from "vitest";
import type { Policy } from "../../schemas/types.ts";
import type { PolicyLog } from "./log.ts";
import { policyRecord } from "./record.ts";
import { encodeRouterBody, ROUTER, ROUTER_KIND } from "./router.ts";
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { createShadowTable, endShadow, holdInShadow } from "./shadow.ts";

const body = encodeRouterBody({ arms: new Map() });
const record = (name: string, version: number, more: Partial<Policy> = {}): Policy =>
  policyRecord({ name, version, kind: ROUTER_KIND, body, featureVersion: FEATURE_VERSION, createdAt: 7, ...more });

describe("shadow table", () => {
  it("holds the newest of each slot, nothing else, until it has ended", () => {
    const table = createShadowTable();
    const now = (): string[] => table.current().map(({ name, policy }) => `${name}@${policy.version}`);
    expect(now()).toEqual([]);
    for (const one of [record("shadow/2", 5), record("shadow/2", 4), record(ROUTER, 9), record("shadow/3", 1)])
      table.apply(one);
    expect(now()).toEqual(["shadow/2@5"]);
    table.apply(record("shadow/1", 1));
    expect(now()).toEqual(["shadow/1@1", "shadow/2@5"]);
    // One that can't be used is not held, and neither is the one before it.
    table.apply(record("shadow/1", 2, { featureVersion: FEATURE_VERSION + 1 }));
    expect(now()).toEqual(["shadow/2@5"]);
    table.apply(record("shadow/2", 6, { kind: "ended@1", body: "{}" }));
    expect(now()).toEqual([]);
    table.apply(record("shadow/1", 3));
    table.remove("shadow/1");
    expect(now()).toEqual([]);
  });
});

describe("slots", () => {
  /** Policies on a topic of one process. */
  function topic() {
    const newest = new Map<string, Policy>();
    const open = (name: string): PolicyLog => ({
      open: () => Promise.resolve(),
      newest: () => newest.get(name) ?? null,
      async append(make) {
        const made = make((newest.get(name)?.version ?? 0) + 1);
        if (made !== null) newest.set(name, made);
        return Promise.resolve(made);
      },
      close: () => Promise.resolve(),
    });
    return { open, newest };
  }

  it("are taken in order, refused when all are, and free again when ended", async () => {
    const { open, newest } = topic();
    const hold = (): Promise<Policy> => holdInShadow({ open }, { policy: record(ROUTER, 12, { revertOf: 3 }), now: 9 });
    expect(await hold()).toMatchObject({ name: "shadow/1", version: 1, revertOf: null, createdAt: 9, body });
    expect(await hold()).toMatchObject({ name: "shadow/2", version: 1 });
    await expect(hold()).rejects.toThrow("shadow/1 and shadow/2 are taken");
    expect(await endShadow({ open }, "shadow/1", 10)).toMatchObject({ version: 2, kind: "ended@1" });
    await expect(endShadow({ open }, "shadow/1", 10)).rejects.toThrow("shadow/1 holds no policy");
    expect(await hold()).toMatchObject({ name: "shadow/1", version: 3 });
    expect(newest.has(ROUTER)).toBe(false);
  });
});
