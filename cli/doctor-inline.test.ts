import { expect, it } from "vitest";
import { configSchema } from "../config/schema.ts";
import { checkInline } from "./doctor-inline.ts";

const config = configSchema.parse({
  kafka: { prefix: "p." },
  arms: [
    { name: "log", type: "recorded", file: "f", dispatch: "inline" },
    { name: "new", type: "recorded", file: "f", dispatch: "inline" },
    { name: "small", type: "llama" },
  ],
});
const check = (end: number, committed: number | undefined) =>
  checkInline(config, {
    topics: () => Promise.resolve(["p.work.log", "p.work.small"]),
    lag: (group, topic) => {
      expect([group, topic]).toEqual(["p.generate.log", "p.work.log"]);
      return Promise.resolve([{ partition: 0, end, committed, metadata: "" }]);
    },
  });

it("says what inline arms cost, and what is left of the time when they were queued", async () => {
  expect(await check(0, undefined)).toMatchObject({
    state: "fine",
    detail: expect.stringMatching(/^log, new: called/),
  });
  expect(await check(8, 8)).toMatchObject({ state: "fine" });
  expect(await check(9, 8)).toMatchObject({
    state: "lacking",
    detail: expect.stringMatching(/^p\.work\.log not read to the end/),
    remedy: expect.stringContaining("--stage generate"),
  });
});
