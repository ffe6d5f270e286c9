import { expect, it } from "vitest";
import type { RequestRow } from "../data/port.ts";
import { csvOf } from "./csv.ts";

const row = { id: "r", createdAt: 0, question: "", answer: "", cost: 0.5, reward: null } as unknown as RequestRow;
const cells = (more: Partial<RequestRow>): string => csvOf([{ ...row, ...more }]).split("\r\n")[1] ?? "";

it("has a line for each row, whatever its texts hold", () => {
  const lines = csvOf([row, { ...row, question: 'a "b", c\nd' }]);
  expect(lines.startsWith("createdAt,id,tenant,")).toBe(true);
  expect(lines).toContain('"a ""b"", c\nd"');
  expect(cells({})).toMatch(/^"1970-01-01T00:00:00.000Z","r",.*,0.5,,,$/);
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＠SUM(A1)"])(
  "runs no formula: %j",
  (question) => {
    expect(cells({ question })).toContain(`"'${question}"`);
  },
);
