import { describe, expect, it } from "vitest";
import { createAccess, createAdminAccess } from "./access.ts";
import { localCaller } from "./local.ts";
import { errorBody, type ApiError } from "./errors.ts";
import { newKey } from "./keys/key.ts";
import { mostTokens, noSpendLimits, plainKey } from "./keys/key.testing.ts";
import { createKeyTable } from "./keys/table.ts";

const from = (remoteAddress: string, host: string, headers: Record<string, string> = {}, method = "GET") =>
  localCaller({ method, headers: { host, ...headers }, socket: { remoteAddress } });

it("without keys serves this machine alone, under its own name", () => {
  for (const [address, host] of [
    ["127.0.0.1", "localhost:7717"],
    ["::1", "[::1]:7717"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
  ] as const)
    expect(from(address, host)).toEqual({ tenant: "default", arms: null, domains: null });
});
it.each([
  ["10.0.0.7", "localhost", {}],
  ["", "localhost", {}],
  ["127.0.0.1", "evil.example:7717", {}],
  ["127.0.0.1", "127.0.0.1.evil.example", {}],
  ["127.0.0.1", "", {}],
  ["127.0.0.1", "localhost", { "x-forwarded-for": "10.0.0.7" }],
  ["127.0.0.1", "localhost", { "x-forwarded-proto": "https" }],
  ["127.0.0.1", "localhost", { forwarded: "for=10.0.0.7" }],
  ["127.0.0.1", "localhost", { "x-real-ip": "10.0.0.7" }],
  ["127.0.0.1", "localhost", { via: "" }],
])("refuses %s under the name %s", (address, host, headers) => {
  expect(() => from(address, host, headers)).toThrow(expect.objectContaining({ status: 401 }));
});

it("refuses what nginx passes on by default", () => {
  const headers = { host: "127.0.0.1:7717", connection: "close" };
  const incoming = { headers, socket: { remoteAddress: "127.0.0.1" } };
  expect(localCaller({ ...incoming, raw: { httpVersion: "1.1" } }).tenant).toBe("default");
  const { connection: _close, ...old } = headers;
  expect(localCaller({ ...incoming, headers: old, raw: { httpVersion: "1.0" } }).tenant).toBe("default");
  expect(() => localCaller({ ...incoming, raw: { httpVersion: "1.0" } })).toThrow(
    expect.objectContaining({ status: 401 }),
  );
});

it.each([
  [403, { "sec-fetch-site": "cross-site" }],
  [403, { "sec-fetch-site": "same-site" }],
  [403, { origin: "null" }],
  [403, { origin: "http://evil.example" }],
  [415, { "content-type": "text/plain" }],
  [415, { "content-type": "application/x-www-form-urlencoded" }],
  [415, { "content-type": "application/jsonp" }],
  [415, { "content-type": "multipart/form-data; boundary=a" }],
  [415, { "content-type": "multipart/form-data; boundary=a", authorization: "Basic YTpi" }],
  [
    403,
    { "content-type": "multipart/form-data; boundary=a", authorization: "Bearer any", origin: "http://evil.example" },
  ],
  [415, {}],
])("without keys answers %i to what a page of another site can send: %o", (status, headers) => {
  const json = status === 403 ? { "content-type": "application/json" } : {};
  expect(() => from("127.0.0.1", "localhost", { ...json, ...headers }, "POST")).toThrow(
    expect.objectContaining({ status }),
  );
});
it("without keys serves what changes something to programs and to the page itself", () => {
  const json = { "content-type": "application/json; charset=utf-8" };
  for (const headers of [{}, { "sec-fetch-site": "same-origin", origin: "http://localhost:7717" }])
    expect(from("127.0.0.1", "localhost:7717", { ...json, ...headers }, "POST").tenant).toBe("default");
  const upload = { "content-type": "multipart/form-data; boundary=a", authorization: "Bearer any" };
  expect(from("127.0.0.1", "localhost:7717", upload, "POST").tenant).toBe("default");
});

describe("with keys", () => {
  const { id, text, hash } = newKey();
  const key = plainKey({ ...{ id, hash, tenant: "acme", arms: ["small"], domains: ["d"] }, requestsPerMinute: 3 });
  const made = () => {
    const keys = createKeyTable({
      now: () => 0,
      clock: () => 0,
      gateways: () => 1,
      holdSpending: noSpendLimits,
      mostTokens,
    });
    return { keys, callerOf: createAccess(keys), mustBeAdmin: createAdminAccess(keys) };
  };
  const remote = (headers: Record<string, string>) => ({ headers, socket: { remoteAddress: "10.0.0.7" } });
  const local = { headers: { host: "localhost" }, socket: { remoteAddress: "127.0.0.1" } };
  const bearer = (value: string) => remote({ authorization: `Bearer ${value}`, host: "gateway.example" });

  it("serves a key from anywhere, as its tenant", () => {
    const { keys, callerOf } = made();
    keys.apply(id, key);
    expect(callerOf(bearer(text))).toMatchObject({ tenant: "acme", arms: ["small"], domains: ["d"] });
    expect(callerOf(remote({ authorization: `bearer  ${text}`, "x-forwarded-for": "1.1.1.1" })).tenant).toBe("acme");
    expect(callerOf(remote({ "x-api-key": text })).tenant).toBe("acme");
    expect(() => callerOf(remote({ "x-api-key": `${text} x` }))).toThrow(expect.objectContaining({ status: 401 }));
  });

  it("refuses callers without a key once it has read one: local callers too, and after the last is revoked", () => {
    const { keys, callerOf } = made();
    expect(callerOf(local).tenant).toBe("default");
    keys.apply(id, { ...key, revokedAt: 1 });
    expect(() => callerOf(local)).toThrow(expect.objectContaining({ status: 401, code: "missing_api_key" }));
    expect(() => callerOf(bearer(text))).toThrow(expect.objectContaining({ status: 401, code: "invalid_api_key" }));
  });

  it.each(["", text, `Basic ${text}`, "Bearer ", `Bearer ${text} x`, `Bearer ${text},Bearer ${text}`])(
    "refuses the header %j",
    (authorization) => {
      const { keys, callerOf } = made();
      keys.apply(id, key);
      expect(() => callerOf(remote({ authorization }))).toThrow(expect.objectContaining({ status: 401 }));
    },
  );

  it("gives wrong keys and revoked ones the same answer", () => {
    const { keys, callerOf } = made();
    const gone = newKey();
    keys.apply(id, key);
    keys.apply(gone.id, plainKey({ id: gone.id, hash: gone.hash, revokedAt: 1 }));
    const reported = [gone.text, newKey().text, `${id}.${"0".repeat(32)}`, "none"].map((wrong) => {
      try {
        return callerOf(bearer(wrong));
      } catch (error) {
        return errorBody(error as ApiError);
      }
    });
    expect(new Set(reported.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  it("opens what is the operators' to admin keys alone, and to them nothing else", () => {
    const { keys, callerOf, mustBeAdmin } = made();
    mustBeAdmin(local);
    expect(() => mustBeAdmin(remote({ host: "localhost" }))).toThrow(expect.objectContaining({ status: 401 }));
    const operator = newKey();
    keys.apply(id, key);
    const admin = plainKey({ id: operator.id, hash: operator.hash, tenant: "", admin: true });
    keys.apply(operator.id, admin);
    mustBeAdmin(bearer(operator.text));
    expect(() => callerOf(bearer(operator.text))).toThrow(expect.objectContaining({ status: 403, code: "admin_key" }));
    expect(() => mustBeAdmin(bearer(text))).toThrow(expect.objectContaining({ status: 403, code: "admin_key_needed" }));
    expect(() => mustBeAdmin(local)).toThrow(expect.objectContaining({ status: 401, code: "missing_api_key" }));
    keys.apply(operator.id, { ...admin, revokedAt: 1 });
    expect(() => mustBeAdmin(bearer(operator.text))).toThrow(expect.objectContaining({ status: 401 }));
  });

  it("counts its requests", () => {
    const { keys, callerOf } = made();
    keys.apply(id, key);
    for (let i = 0; i < 3; i++) callerOf(bearer(text));
    expect(() => callerOf(bearer(text))).toThrow(expect.objectContaining({ status: 429, retryAfter: 20 }));
  });
});
