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
  expect(text).toContain("| `kafka.brokers` | list of string, from 1 |  | Absent: the embedded stack's broker. |");
  expect(text).toContain(
    "| `routing.costWeight` | number, 0 to 1000000 | `0.3` | lambda_c: the price of cost in quality; 0: quality only. |",
  );
  expect(text).toContain(
    "| `arms[].model` | string |  | A GGUF file; absent: SmolLM2-135M-Instruct as set-up fetches it. |",
  );
  // A constant of its own, in another file.
  expect(text).toContain(
    "| `linked.diskBytes` | integer, 1 to 4398046511104 | `2147483648` | Under the stack folder, in kv/ARM. |",
  );
  expect(text).toContain("| `arms[].prices.prompt` | number, 0 to 1000000 |  | Absent: the catalogue's. |");
});
