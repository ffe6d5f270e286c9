import { expect, it } from "vitest";
import type { RequestRow } from "../data/types/requests.ts";
import { csvOf } from "./csv.ts";
import { columns } from "./request-columns.tsx";

const row = { id: "r", createdAt: 0, question: "", answer: "", cost: 0.5, reward: null } as unknown as RequestRow;
const names = ["Time", "Request", "Cost", "Reward", "Compare"];
const cells = (more: Partial<RequestRow>): string => csvOf([{ ...row, ...more }], names).split("\r\n")[1] ?? "";

it("has a line for each row, whatever its texts hold", () => {
  const lines = csvOf([row, { ...row, question: 'a "b", c\nd' }], names);
  expect(lines.startsWith("createdAt,id,question,answer,cost,reward\r\n")).toBe(true);
  expect(lines).toContain('"a ""b"", c\nd"');
  expect(cells({})).toBe('"1970-01-01T00:00:00.000Z","r","","",0.5,');
});

it("knows what every column of the list shows", () => {
  for (const [name] of columns) expect(csvOf([], [name]), name).toMatch(/^\w+/);
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＠SUM(A1)"])(
  "runs no formula: %j",
  (question) => {
    expect(cells({ question })).toContain(`"'${question}"`);
  },
);
