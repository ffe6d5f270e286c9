// What integration tests know of the stack that global-setup.ts started.
import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import type { StackInfo } from "../../stack/attach.ts";

export function testStack(): StackInfo {
  return inject("stack");
}

/**
 * A prefix for topics, subjects, groups and databases that no other test has: "t<8 letters and
 * digits>.". For names that allow no dot, use databaseName().
 */
export function uniquePrefix(): string {
  return `t${randomBytes(4).toString("hex")}.`;
}

/** A ClickHouse database name that no other test has. */
export function databaseName(): string {
  return `test_${randomBytes(4).toString("hex")}`;
}
