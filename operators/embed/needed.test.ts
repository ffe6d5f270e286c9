import { expect, test } from "vitest";
import { lookedUp, arm } from "../select/fixtures.testing.ts";
import { createNeeded, type NeededDependencies } from "./needed.ts";

const small = arm("small");
const large = arm("large");
const plain = lookedUp();
const { request } = plain;
const isNeeded = (over: Partial<NeededDependencies>, input = plain): boolean =>
  createNeeded({ arms: () => [small], pool: { holds: () => true }, selection: { examples: 3 }, ...over })(input);
const none = { holds: () => false };

test("one arm and a domain without examples: nothing reads it", () => {
  expect(isNeeded({})).toBe(true);
  expect(isNeeded({ pool: none })).toBe(false);
});

test("several arms are chosen between by it, as far as the request may go to them", () => {
  const both = { arms: () => [small, large], pool: none };
  const only = { ...plain, request: { ...request, allow: { ...request.allow, arms: ["large"] } } };
  const requiring = { ...plain, request: { ...request, passthrough: "{}", requires: ["tools"] } };
  expect(isNeeded(both)).toBe(true);
  expect(isNeeded(both, only)).toBe(false);
  expect(isNeeded({ ...both, arms: () => [small, { ...large, capabilities: ["tools" as const] }] }, requiring)).toBe(
    false,
  );
});

test("an arm that is shown no examples has no use for it", () => {
  expect(isNeeded({ arms: () => [{ ...small, examples: false }] })).toBe(false);
  expect(isNeeded({ selection: { examples: 0 } })).toBe(false);
  expect(isNeeded({}, { ...plain, request: { ...request, passthrough: "{}" } })).toBe(false);
});

test("the examples of a domain that is shared count as its own", () => {
  const pool = { holds: (sharedDomain: string) => sharedDomain === "+/shell" };
  expect(isNeeded({ pool })).toBe(false);
  expect(isNeeded({ pool, sharing: { sharedDomainOf: () => "+/shell" } })).toBe(true);
});
