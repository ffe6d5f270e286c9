import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { hasTexts, rewrite } from "./columns.ts";

/**
 * Tables of ids, names of ours, times and figures; examples, in which curate replaces personal data
 * before; and synthetic questions.
 */
const withoutTexts: readonly string[] = [
  ...["account_costs", "answer_days", "answer_hours", "arm_hours", "cursors", "domain_arm_hours", "decisions"],
  ...["erasures", "example_replay_runs", "example_replays", "example_trials", "example_uses", "admissions"],
  ...["feedback_excess", "judgements", "learn_positions", "policies", "policy_terms", "prefill_samples"],
  ...["request_arrivals", "rewards", "tenant_arm_hours", "examples", "synthesis_rounds"],
];

it("knows of every table whether people's texts are in it: a new one belongs into one of the two lists", () => {
  const folder = new URL("../../schemas/clickhouse/", import.meta.url);
  const sql = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
  const tables = sql.flatMap((text) =>
    [...text.matchAll(/CREATE TABLE IF NOT EXISTS \{table:(\w+)\}/g)].map(([, t]) => t!),
  );
  expect(tables.length).toBeGreaterThan(25);
  const unknown = tables.filter((table) => hasTexts(table) === withoutTexts.includes(table));
  expect(unknown).toEqual([]);
  expect(withoutTexts.filter((table) => !tables.includes(table))).toEqual([]);
});

it("cleans why a withdrawal was made, and leaves the author that it is by", () => {
  const clean = (text: string): string => text.replace("bob@x.org", "[EMAIL]");
  const row = {
    created_at: "2026-03-01 00:00:00.000",
    withdrawal_id: "w",
    tenant: "acme",
    author: "ann",
    comment: "bob@x.org complained",
  };
  expect(rewrite("withdrawals", row, clean, "key")).toEqual({ ...row, comment: "[EMAIL] complained" });
  expect(rewrite("withdrawals", { ...row, comment: null }, clean, "key")).toMatchObject({ comment: null });
});
