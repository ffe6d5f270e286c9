// Replaces personal data in rows before insert (docs/privacy.md, Redaction), in the text worker. A
// text beyond its limit is withheld whole; without a worker it waits. The same record gives the
// same row.
import { setTimeout as delay } from "node:timers/promises";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { withheldText, type MaskItem, type MaskOptions } from "../../algorithms/privacy/mask.ts";
import { succeeds } from "../../connections/errors.ts";
import { TextError, type TextWork } from "../../connections/text/port.ts";
import { createLines } from "../../runtime/lines.ts";
import type { Lines, Row, TableLines } from "../../runtime/rows.ts";
import { hasTexts, rewrite, scopeOfRow, type Clean } from "./columns.ts";

export interface RedactDependencies {
  text: Pick<TextWork, "mask" | "check">;
  options: MaskOptions;
  insert: (tables: readonly TableLines[], signal: AbortSignal) => Promise<void>;
  onWithheld?: (texts: number) => void;
  onWaiting?: (cause: unknown) => void;
}

/** Limit of a call of the worker: some milliseconds of work. A longer text goes alone. */
const atOnce = { characters: 65_536, texts: 512 };
const waits = { first: 100, limit: 10_000 };

export function createRedact({ text, options, insert, onWithheld, onWaiting }: RedactDependencies) {
  /** By their positions; null: withheld. Rejects only when the signal aborts. */
  async function cleaned(items: readonly MaskItem[], signal: AbortSignal): Promise<(string | null)[]> {
    const pause = backoff(waits);
    for (let died = false; ;) {
      signal.throwIfAborted();
      try {
        return await text.mask(items, options);
      } catch (error) {
        const code = error instanceof TextError ? error.code : "failed";
        // The worker died with these texts twice, or the rules themselves fail: one of them is why.
        const isTheirs = code === "text_timeout" || code === "failed" || (code === "text_unavailable" && died);
        if (isTheirs) return await halves(items, signal);
        onWaiting?.(error);
        await delay(pause.next(), undefined, { signal });
        // Only of a worker that can be started a crash says something.
        if (code === "text_unavailable") died = await succeeds(text.check());
      }
    }
  }

  async function halves(items: readonly MaskItem[], signal: AbortSignal): Promise<(string | null)[]> {
    if (items.length === 1) return [null];
    const middle = items.length >> 1;
    return [...(await cleaned(items.slice(0, middle), signal)), ...(await cleaned(items.slice(middle), signal))];
  }

  async function all(items: readonly MaskItem[], signal: AbortSignal): Promise<(string | null)[]> {
    const found: (string | null)[] = [];
    for (const some of portions(items)) found.push(...(await cleaned(some, signal)));
    return found;
  }

  /** Rejects only when the signal aborts. */
  return async function redact(tables: readonly TableLines[], signal: AbortSignal): Promise<void> {
    const items: MaskItem[] = [];
    const read = tables.map(({ table, lines }) => ({ table, lines, rows: hasTexts(table) ? rowsOf(lines) : [] }));
    for (const { table, rows } of read)
      for (const row of rows) rewrite(table, row, collecting(items, scopeOfRow(table, row)), options.key);
    const given = items.filter(({ text: one }) => one !== "");
    const results = await all(given, signal);
    const withheld = results.filter((one) => one === null).length;
    if (withheld > 0) onWithheld?.(withheld);
    let next = 0;
    const take: Clean = (one, form) => {
      if (one === "") return one;
      const result = results[next++];
      if (result !== null && result !== undefined) return result;
      return form === "json" ? JSON.stringify(withheldText) : withheldText;
    };
    const clean = read.map(({ table, lines, rows }) => {
      if (rows.length === 0) return { table, lines };
      const rewritten = createLines();
      for (const [index, row] of rows.entries())
        rewritten.add(rewrite(table, row, take, options.key), lines.source(index));
      return { table, lines: rewritten };
    });
    await insert(clean, signal);
  };
}

const rowsOf = (lines: Lines): Row[] => Array.from({ length: lines.length }, (_, index) => lines.row(index));

const collecting =
  (items: MaskItem[], scope: string): Clean =>
  (text, form = "text") => {
    items.push({ text, scope, form });
    return text;
  };

function* portions(items: readonly MaskItem[]): Generator<MaskItem[]> {
  let some: MaskItem[] = [];
  let characters = 0;
  for (const item of items) {
    if (some.length > 0 && (some.length >= atOnce.texts || characters + item.text.length > atOnce.characters)) {
      yield some;
      some = [];
      characters = 0;
    }
    some.push(item);
    characters += item.text.length;
  }
  if (some.length > 0) yield some;
}

export interface MaskingDependencies extends Pick<RedactDependencies, "insert" | "onWaiting"> {
  /** undefined: rows pass as they are. */
  masking: Pick<RedactDependencies, "text" | "options" | "onWithheld"> | undefined;
}

export const createMasking = ({ masking, insert, onWaiting }: MaskingDependencies): RedactDependencies["insert"] =>
  masking === undefined ? insert : createRedact({ ...masking, insert, ...(onWaiting && { onWaiting }) });
