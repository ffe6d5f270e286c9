import { describe, expect, it } from "vitest";
import { createAdminAccess } from "../access.ts";
import { createMayLook, sameOrigin } from "./access.ts";

const local = (headers: Record<string, string>) => ({
  headers: { host: "localhost:7717", ...headers },
  socket: { remoteAddress: "127.0.0.1" },
});
const status = (ask: () => void): number => {
  try {
    ask();
    return 200;
  } catch (error) {
    return (error as { status: number }).status;
  }
};

describe("the page", () => {
  const mayLook = createMayLook(createAdminAccess({ size: () => 0, find: () => null }));
  it.each([
    [200, {}],
    [200, { "sec-fetch-site": "none" }],
    [200, { "sec-fetch-site": "same-origin" }],
    [200, { origin: "http://localhost:7717" }],
    [403, { "sec-fetch-site": "cross-site" }],
    [403, { "sec-fetch-site": "same-site" }],
    [403, { origin: "http://localhost:8080" }],
    [403, { origin: "null" }],
    [401, { host: "rebound.example" }],
    [401, { "x-forwarded-for": "10.0.0.1" }],
  ])("answers %i to %j on this machine", (expected, headers) => {
    expect(status(() => mayLook(local(headers)))).toBe(expected);
  });

  it("is changed by itself alone", () => {
    expect(status(() => sameOrigin(local({})))).toBe(403);
    expect(status(() => sameOrigin(local({ origin: "http://localhost:7717.evil.example" })))).toBe(403);
    expect(status(() => sameOrigin(local({ origin: "http://localhost:7717" })))).toBe(200);
    expect(status(() => sameOrigin(local({ host: "gateway.example", origin: "https://gateway.example" })))).toBe(200);
  });
});
