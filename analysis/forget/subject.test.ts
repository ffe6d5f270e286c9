import { describe, expect, it } from "vitest";
import { createSubject, isUsersLine, type Scope } from "./subject.ts";

describe("a line of an uploaded file is a user's", () => {
  const isIts = (body: unknown, scope: Scope = { user: "bob" }, tenant = "acme") =>
    isUsersLine(createSubject(scope, 1), {
      tenant,
      text: typeof body === "string" ? body : JSON.stringify({ custom_id: "1", method: "POST", body }),
    });
  it.each<[string, unknown]>([
    ["by user", { user: "bob" }],
    ["by metadata", { metadata: { user: "bob" } }],
    ["escaped", '{"body":{"us\\u0065r":"b\\u006fb"}}'],
    ["cut, where its text has the name", '{"body":{"user":"bob","messages":[{"con'],
  ])("%s", (_how, body) => {
    expect(isIts(body)).toBe(true);
    expect(isIts(body, { user: "bob", tenant: "acme" })).toBe(true);
    expect([isIts(body, { user: "bo" }), isIts(body, { user: "bob", tenant: "other" })]).toEqual([false, false]);
    expect([isIts(body, { tenant: "acme" }), isIts(body, { request: "bob" })]).toEqual([false, false]);
  });
  it.each<[string, unknown]>([
    ["of another user", { user: "bobby", messages: [{ role: "user", content: "bob" }] }],
    ["of none", { messages: [] }],
    ["no object", "[1]"],
    ["a number", { user: 7 }],
  ])("not %s", (_how, body) => expect(isIts(body)).toBe(false));
});
