import { expect, it } from "vitest";
import { describeBreakers } from "./doctor-breakers.ts";

it("names the arms that fail, and where", () => {
  const closed = { instance: "up-1", state: "closed" } as const;
  expect(
    describeBreakers([
      { arm: "small", rows: [] },
      { arm: "large", rows: [closed] },
    ]),
  ).toMatchObject({ state: "fine" });
  const open = { instance: "plan-2", state: "open" } as const;
  expect(
    describeBreakers([
      { arm: "small", rows: [] },
      { arm: "large", rows: [closed, open] },
    ]),
  ).toMatchObject({
    ...{ state: "lacking", detail: "arms that fail: large: open in plan-2" },
  });
});
