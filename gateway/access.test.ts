import { expect, it } from "vitest";
import { localCaller } from "./access.ts";

const from = (remoteAddress: string, host: string, headers: Record<string, string> = {}) =>
  localCaller({ headers: { host, ...headers }, socket: { remoteAddress } });

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
])("refuses %s under the name %s", (address, host, headers) => {
  expect(() => from(address, host, headers)).toThrow(expect.objectContaining({ status: 401 }));
});
