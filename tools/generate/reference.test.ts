import { readFileSync } from "node:fs";
import { format, resolveConfig } from "prettier";
import { expect, it } from "vitest";
import { generateReference, referenceFile } from "./reference.ts";

it("docs/configuration.md is what the schema says (npm run reference)", async () => {
  const options = { ...(await resolveConfig(referenceFile)), parser: "markdown" };
  expect(readFileSync(referenceFile, "utf8")).toBe(await format(generateReference(), options));
});

it("takes types, ranges, defaults and comments from the schema", () => {
  const text = generateReference();
  expect(text).toContain("| `kafka.brokers` | list of string | Absent: the embedded stack's broker. |");
  expect(text).toContain("| `routing.costWeight` | `0.3` | Price of cost in quality; 0: quality only. |");
  expect(text).toContain("| `selection.examples` | `5`; 0..64 | Examples shown at most. |");
  expect(text).toContain("\n- `index` (`memory`, `milvus`): ");
  expect(text).toContain("\n- `sasl.oauth.clientId` (string, required)\n");
  expect(text).toContain("\n- `tls.key`: PEM file of its key.\n");
  // Constants of their own: in another file; shared by several arms.
  expect(text).toContain("\n- `linked.maxKl.short` (`0.1`)\n");
  expect(text).toContain("\n- `linked.diskBytes` (`2147483648`): Caches on disk, in kv/ARM under the stack folder.\n");
  expect(text).toContain("\n- `timeoutMs` (`60000`): For one call, until its last token.\n");
  expect(text).toContain("| `arms[].prices.prompt` | number | Per million tokens; absent: the catalogue's. |");
});
