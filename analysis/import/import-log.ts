// Imports another system's log (docs/import.md) as the rows that record would have stored; nothing
// on topics. What is there is not written again. Feedback comes last of each batch, under an origin
// of its own, where learn finds it.
import { requestKey } from "../../algorithms/identity/identity.ts";
import { mask } from "../../algorithms/privacy/mask.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { hasTexts, rewrite, scopeOfRow } from "../../operators/redact/columns.ts";
import { lastUserTurn } from "../../operators/validate/validate.ts";
import type { Row, TableRows } from "../../runtime/rows.ts";
import type { LogRow } from "../../state/log-replay-row.ts";
import { createKnown, feedbackKey } from "./known.ts";
import type { ForeignFeedback } from "./presets/preset.ts";
import { createTables, foreignFeedback, type TableOptions } from "./tables.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface ImportDependencies extends TableOptions {
  clickhouse: Pick<ClickHouse, "insert" | "query">;
  embedder: Pick<Embedder, "embedAll">;
  /** As privacy.redact.clickhouse; absent: texts are written as they are. */
  redact?: { key: string; ipAddresses: boolean } | undefined;
  /** A row is left out. */
  onProblem: (reason: string, row: number) => void;
}

export interface ImportedRows {
  requests: number;
  answers: number;
  rewards: number;
  corrections: number;
  /** They were there already. */
  known: number;
}
const nothing: ImportedRows = { requests: 0, answers: 0, rewards: 0, corrections: 0, known: 0 };

/** row: from 1, in the file. */
export type ImportRow = { row: number } & ({ log: LogRow } | { feedback: ForeignFeedback });

/** Takes the rows of a batch. Rejects as ClickHouse. */
export function createLogImport(dependencies: ImportDependencies) {
  const { clickhouse, embedder, redact, onProblem } = dependencies;
  const known = createKnown(clickhouse);
  const { tablesOf, feedbackRows } = createTables(dependencies);

  async function insert(tables: readonly TableRows[]): Promise<void> {
    for (const table of inOrder) {
      // An INSERT is atomic within a month alone, and only all of it is known to be a repeated one.
      const all = tables.flatMap((one) => (one.table === table ? one.rows : []));
      for (const rows of groupBy(all, ({ created_at: at }) => at.slice(0, 7)).values())
        await clickhouse.insert(table, redact === undefined ? rows : redactedRows(table, rows, redact));
    }
  }

  async function importLogs(given: readonly { row: number; log: LogRow }[]): Promise<ImportedRows> {
    const asked = given.map(({ log }) => log.request);
    const [there, erased] = [await known.requests(asked), await known.erased(asked)];
    let repeated = 0;
    const rows = given.filter(({ row, log: { request } }) => {
      const key = requestKey(request.tenant, request.id);
      const [isErased, isThere] = [erased.has(key), there.has(key)];
      if (isErased) onProblem("it was erased here (precedent forget)", row);
      else if (isThere) repeated++;
      else there.add(key);
      return !isErased && !isThere;
    });
    const answered = rows.flatMap(({ log: { answer } }, i) => (answer === null ? [] : [i]));
    const vectors = await embedder.embedAll(answered.map((i) => lastUserTurn(rows[i]!.log.request.messages)));
    const embeddings = new Map(answered.map((i, k) => [i, vectors[k]!]));
    await insert(rows.flatMap(({ row, log }, i) => tablesOf(log, embeddings.get(i) ?? null, row)));
    return {
      ...{ requests: rows.length, answers: answered.length },
      rewards: rows.filter(({ log }) => (log.answer?.reward ?? null) !== null).length,
      corrections: rows.filter(({ log }) => (log.correction ?? null) !== null).length,
      known: repeated,
    };
  }

  /** On requests that are imported, whose tenant it then has. */
  async function importFeedback(given: readonly { row: number; feedback: ForeignFeedback }[]): Promise<ImportedRows> {
    const targets = await known.targets(given.map(({ feedback }) => feedback));
    const made = given.flatMap(({ row, feedback }, i) => {
      const requests = targets[i]!;
      if (requests.length === 0) onProblem("no request that it is on is imported", row);
      const isMixed = new Set(requests.map(({ tenant }) => tenant)).size > 1;
      if (isMixed) onProblem("several tenants have a request that it is on", row);
      return isMixed ? [] : requests.map((request) => ({ row, feedback: foreignFeedback(request, feedback) }));
    });
    const there = await known.feedback(made.map(({ feedback }) => feedback));
    const fresh = made.filter(({ feedback }) => !there.has(feedbackKey(feedback)));
    await insert(fresh.flatMap(({ row, feedback }) => feedbackRows(feedback, row)));
    const corrections = fresh.filter(({ feedback }) => feedback.kind === "correction").length;
    return { ...nothing, corrections, rewards: fresh.length - corrections, known: made.length - fresh.length };
  }

  return async function importRows(rows: readonly ImportRow[]): Promise<ImportedRows> {
    const logs = rows.flatMap((one) => ("log" in one ? [one] : []));
    const feedback = rows.flatMap((one) => ("feedback" in one ? [one] : []));
    const done = logs.length === 0 ? nothing : await importLogs(logs);
    return feedback.length === 0 ? done : added(done, await importFeedback(feedback));
  };
}

export const added = (one: ImportedRows, other: ImportedRows): ImportedRows =>
  Object.fromEntries(
    (Object.keys(one) as (keyof ImportedRows)[]).map((name) => [name, one[name] + other[name]]),
  ) as unknown as ImportedRows;

/** What learn begins with comes after what it looks up; an arrival says that all of it is there. */
const inOrder = [
  "requests",
  "responses",
  "example_uses",
  "example_trials",
  "decisions",
  "feedback",
  "request_arrivals",
];

/** As record does it. */
const redactedRows = (table: string, rows: readonly Row[], options: { key: string; ipAddresses: boolean }): Row[] =>
  rows.map((row) => {
    if (!hasTexts(table)) return row;
    const scope = scopeOfRow(table, row);
    const clean = (text: string, form: "text" | "json" = "text"): string => mask([{ text, scope, form }], options)[0]!;
    return rewrite(table, row, clean, options.key);
  });
