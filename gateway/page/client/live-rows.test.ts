import { expect, it } from "vitest";
import type { RequestRow } from "../data/types/requests.ts";
import { keyOf, shownRows } from "./live-rows.ts";

const row = (id: string, createdAt: number, more: Partial<RequestRow> = {}): RequestRow =>
  ({ id, tenant: "t", createdAt, state: "ok", question: id, ...more }) as unknown as RequestRow;
const ids = (rows: readonly RequestRow[]): string[] => rows.map(({ id }) => id);

it("keeps the order of the tables where the stream adds nothing: the most expensive first", () => {
  const read = [row("expensive", 1), row("newest", 3), row("cheap", 2)];
  expect(ids(shownRows(read, new Map()))).toEqual(["expensive", "newest", "cheap"]);
});

it("puts rows of the stream among those of the tables by time, and ends open ones", () => {
  const fresh = [row("new", 9, { question: "" }), row("open", 5, { question: "" })];
  const found = shownRows(
    [row("open", 4, { state: "open" }), row("old", 1)],
    new Map(fresh.map((one) => [keyOf(one), one])),
  );
  expect(ids(found)).toEqual(["new", "open", "old"]);
  expect(found[1]).toMatchObject({ state: "ok", question: "open", createdAt: 4 });
});
