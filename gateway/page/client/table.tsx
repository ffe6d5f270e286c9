// Tables: rows by columns that say what is particular about them.
import type { ComponentChildren } from "preact";
import { ago, whole } from "./format.ts";
import { Arm, Nothing } from "./parts.tsx";

/** A column of rows R: its name, the cell of a row, and what is particular about it. */
export type Column<R> = readonly [
  name: string,
  cell: (row: R, index: number) => ComponentChildren,
  more?: {
    /** Names the row. */
    isHead?: boolean;
    isNumber?: boolean;
    /** The name is for screen readers alone. */
    isHidden?: boolean;
    title?: string;
    /** Title of a cell. */
    hint?: (row: R) => string | undefined;
    class?: string;
  },
];

export const numeric = { isNumber: true } as const;
export const rowHead = { isHead: true } as const;

/** How long ago a member of the row was, with the time itself as a hint. */
export const aged = <K extends string>(name: string, member: K): Column<Readonly<Record<K, number | null>>> => [
  name,
  (row) => ago(row[member]),
  { class: "nowrap", hint: (row) => whole(row[member]) },
];

/** The row's arm, linked to its requests. Rows of answers without an arm make the shares add up. */
export const armColumn = (to: (arm: string) => string, isRow = false): Column<{ arm: string }> => [
  "Arm",
  ({ arm }) =>
    arm === "" ? (
      <span class="quiet">no arm</span>
    ) : (
      <a {...(isRow && { "data-row": "" })} href={to(arm)}>
        <Arm name={arm} />
      </a>
    ),
  rowHead,
];

interface TableProps<R> {
  rows: readonly R[];
  columns: readonly Column<R>[];
  keyOf: (row: R) => string | number;
  rowClass?: (row: R, index: number) => string;
  class?: string;
  /** What is said in place of a table without rows. */
  none?: string;
  /** Name of the region in which a long table scrolls; absent: it is short. */
  scrolls?: string;
  /** The rows answer an earlier question: shown dimmed until they are replaced. */
  isStale?: boolean;
}

export function Table<R>({ rows, columns, keyOf, rowClass, isStale, class: kind = "", none, scrolls }: TableProps<R>) {
  if (rows.length === 0 && none !== undefined) return <Nothing>{none}</Nothing>;
  const table = (
    <table class={`cards ${kind}`.trimEnd()} aria-busy={isStale}>
      <thead>
        <tr>
          {columns.map(([name, , { isNumber, isHidden, title } = {}]) => (
            <th key={name} scope="col" class={isNumber === true ? "number" : undefined} title={title}>
              {isHidden === true ? <span class="hidden">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={keyOf(row)} class={rowClass?.(row, i)}>
            {columns.map(([name, cell, more = {}]) =>
              more.isHead === true ? (
                <th key={name} scope="row">
                  {cell(row, i)}
                </th>
              ) : (
                <td
                  key={name}
                  data-label={name}
                  class={more.class ?? (more.isNumber === true ? "number" : undefined)}
                  title={more.hint?.(row)}
                >
                  {cell(row, i)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return scrolls === undefined ? (
    table
  ) : (
    <div class="scroll" tabIndex={0} role="region" aria-label={scrolls}>
      {table}
    </div>
  );
}
