import { expect, it } from "vitest";
import { aContext, validated } from "../test-values.ts";
import { createSanitise } from "./sanitise.ts";

it("passes everything on until there are rules", async () => {
  const input = validated();
  expect(await createSanitise()(input, aContext())).toEqual({ kind: "ok", value: input });
});
