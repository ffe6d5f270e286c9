import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newClusterId } from "./cluster-id.ts";

test("a cluster id is 16 bytes in base64url and never begins with a dash, which Kafka's tools take for an option", () => {
  const drawn = [Buffer.alloc(16, 0xfb), Buffer.from([0xf8, ...randomBytes(15)]), Buffer.alloc(16, 0)];
  expect(drawn[0]?.toString("base64url")).toMatch(/^-/);
  expect(newClusterId(() => drawn.shift() ?? Buffer.alloc(16))).toBe("A".repeat(22));
  expect(drawn).toEqual([]);
  expect(newClusterId()).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
});
