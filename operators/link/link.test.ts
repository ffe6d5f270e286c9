import { expect, it } from "vitest";
import { aTaken } from "../call/test-values.ts";
import { aContext } from "../test-values.ts";
import { createLink } from "./link.ts";

it("passes the prompt on as it was composed", async () => {
  const taken = aTaken();
  expect(await createLink()(taken, aContext())).toEqual({
    kind: "ok",
    value: { ...taken, prompt: { pieces: taken.record.pieces } },
  });
});
