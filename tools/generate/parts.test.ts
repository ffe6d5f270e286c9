import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { format, resolveConfig } from "prettier";
import { expect, it } from "vitest";
import { generatedParts } from "./parts.ts";

it.each(generatedParts.map((part) => [basename(part.file), part] as const))(
  "%s says what the code says (npm run reference)",
  async (_name, { file, whole }) => {
    const found = readFileSync(file, "utf8");
    const options = { ...(await resolveConfig(file)), parser: "markdown" };
    expect(found).toBe(await format(whole(found), options));
  },
);

it("refuses a page without the place for its part", () => {
  for (const { whole } of generatedParts) expect(() => whole("# A page")).toThrow("put <!-- ");
});
