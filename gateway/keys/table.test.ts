import { describe, expect, it } from "vitest";
import type { ApiKey } from "../../schemas/types.ts";
import { newKey } from "./key.ts";
import { mostTokens, noSpendLimits, plainKey } from "./key.testing.ts";
import { createKeyTable } from "./table.ts";

function tableWith(...changes: Partial<ApiKey>[]) {
  const time = { now: 1_000 };
  const table = createKeyTable({
    now: () => time.now,
    clock: () => time.now,
    gateways: () => 1,
    holdSpending: noSpendLimits,
    mostTokens,
  });
  const made = changes.map((change) => {
    const { id, text, hash } = newKey();
    const key = plainKey({ id, hash, ...change });
    const problem = table.apply(id, key);
    return { id, text, key, problem };
  });
  return { table, made, time };
}

describe("keys", () => {
  it("are found by the whole key alone", () => {
    const { table, made } = tableWith({ tenant: "a" }, { tenant: "b" });
    const [a, b] = made;
    expect(table.find(a!.text)?.key.tenant).toBe("a");
    expect(table.find(b!.text)?.key.tenant).toBe("b");
    const crossed = `${a!.id}.${b!.text.split(".")[1]}`;
    for (const wrong of [a!.id, crossed, newKey().text, "", a!.key.hash]) expect(table.find(wrong)).toBeNull();
  });

  it("are refused when they are revoked, whatever the clock, and stay known", () => {
    const { table, made } = tableWith({});
    const [{ id, text, key }] = made as [(typeof made)[0]];
    expect(table.isValid(id)).toBe(true);
    table.apply(id, { ...key, revokedAt: 9_999_999_999_999 });
    expect(table.find(text)).toBeNull();
    expect(table.isValid(id)).toBe(false);
    expect(table.size()).toBe(1);
  });

  it("are of a tenant or of operators, never both or neither", () => {
    const { table, made } = tableWith({ tenant: "" }, { admin: true }, { tenant: "", admin: true });
    expect(made.map(({ text }) => table.find(text) !== null)).toEqual([false, false, true]);
    expect(made.map(({ problem }) => problem === null)).toEqual([false, false, true]);
  });

  it("expire by the gateway's clock", () => {
    const { table, made, time } = tableWith({ expiresAt: 2_000 });
    expect(table.find(made[0]!.text)).not.toBeNull();
    time.now = 2_000;
    expect(table.find(made[0]!.text)).toBeNull();
  });

  it("with a record that can't be right are refused, and said", () => {
    const { table, made } = tableWith({ hash: "" }, { hash: "0".repeat(63) }, { id: "other" }, { tenant: "" });
    for (const { text, problem } of made) {
      expect(problem).toContain("refused");
      expect(table.find(text)).toBeNull();
    }
    expect(table.size()).toBe(4);
  });

  it("keep what they have used when their record changes", () => {
    const { table, made } = tableWith({ requestsPerMinute: 1 });
    const [{ id, text, key }] = made as [(typeof made)[0]];
    table.find(text)?.limits.request();
    table.apply(id, { ...key, label: "renamed" });
    expect(() => table.find(text)?.limits.request()).toThrow(expect.objectContaining({ status: 429 }));
  });

  it("are gone with their tombstone", () => {
    const { table, made } = tableWith({});
    table.remove(made[0]!.id);
    expect(table.isValid(made[0]!.id)).toBe(false);
    expect(table.find(made[0]!.text)).toBeNull();
    expect(table.size()).toBe(0);
  });
});
