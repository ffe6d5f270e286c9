import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { expect, it } from "vitest";
import { generateTypes } from "../tools/generate/types.ts";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

it("types.ts is what the Avro schemas say (npm run types)", async () => {
  const file = path("types.ts");
  const generated = await format(generateTypes(path("avro")), { ...(await resolveConfig(file)), parser: "typescript" });
  expect(readFileSync(file, "utf8")).toBe(generated);
});
