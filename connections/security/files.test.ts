import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { tlsOptions } from "./files.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "precedent-tls-"))));
afterEach(() => rmSync(folder, { recursive: true }));

it("takes authorities in PEM form, with whatever stands around them", () => {
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, `an authority\n${rootCertificates[0]}\n`);
  expect(tlsOptions({ ca })).toMatchObject({ rejectUnauthorized: true });
});

it.each([
  ["nothing", ""],
  ["a Java keystore", Buffer.from("feedfeed0000000200000001", "hex")],
  ["a private key", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"],
])("refuses %s as authorities", (_what, content) => {
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, content);
  expect(() => tlsOptions({ ca })).toThrow(`${ca} holds no certificate in PEM form`);
});
