import { expect, it } from "vitest";
import { isLocalHost } from "./local-host.ts";

it("knows the names of this machine, with a port or without", () => {
  for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:65535", "127.1.2.3", "[::1]", "[::1]:7717"])
    expect(isLocalHost(host), host).toBe(true);
});

it("takes no other name for one, and none for none", () => {
  const others = ["", "127.0.0.1.example.org", "localhost.example.org", "xlocalhost", "::1", "127.1", "10.0.0.1"];
  for (const host of [
    ...others,
    "localhost:",
    "localhost:123456",
    "localhost:80:80",
    "localhost\n",
    undefined,
    ["localhost"],
  ])
    expect(isLocalHost(host), String(host)).toBe(false);
});
