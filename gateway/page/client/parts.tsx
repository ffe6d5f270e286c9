// Small pieces that all views are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RequestState } from "../data/port.ts";
import { armColour } from "./colours.ts";

export const Panel = ({
  title,
  note,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <section class="panel">
    <header>
      <h2>{title}</h2>
      {note !== undefined && <p class="note">{note}</p>}
    </header>
    {children}
  </section>
);

/** The colour is never the only sign. */
export const Arm = ({ name }: { name: string | null }) =>
  name === null || name === "" ? (
    <span class="quiet">–</span>
  ) : (
    <span class="arm">
      <i style={{ background: armColour(name) }} aria-hidden="true" />
      {name}
    </span>
  );

const words: Readonly<Record<RequestState, string>> = { ok: "ok", failed: "failed", refused: "refused", open: "open" };
export const State = ({ state, code }: { state: RequestState; code?: string | null }) => (
  <span class={`state ${state}`} title={code ?? undefined}>
    {state === "failed" || state === "refused" ? (code ?? words[state]) : words[state]}
  </span>
);

/** A share of the whole width, with its figure beside it. */
export const Bar = ({ value, colour, children }: { value: number; colour?: string; children?: ComponentChildren }) => (
  <span class="bar">
    <span class="track" aria-hidden="true">
      <span
        class="fill"
        style={{
          width: `${Math.min(1, Math.max(0, value)) * 100}%`,
          ...(colour === undefined ? {} : { background: colour }),
        }}
      />
    </span>
    <span class="figure">{children}</span>
  </span>
);

/** href: the requests behind the figure. */
export const Stat = ({
  label,
  value,
  note,
  href,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  href?: string | undefined;
}) => (
  <div class="stat">
    <dt>{href === undefined ? label : <a href={href}>{label}</a>}</dt>
    <dd>
      {value}
      {note !== undefined && <small>{note}</small>}
    </dd>
  </div>
);

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

interface TableProps<R> {
  rows: readonly R[];
  columns: readonly Column<R>[];
  keyOf: (row: R) => string | number;
  rowClass?: (row: R, index: number) => string;
  class?: string;
  /** Name of the region in which a long table scrolls; absent: it is short. */
  scrolls?: string;
}

export function Table<R>({ rows, columns, keyOf, rowClass, class: kind, scrolls }: TableProps<R>) {
  const table = (
    <table class={kind}>
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

export const Nothing = ({ children }: { children: ComponentChildren }) => <p class="nothing">{children}</p>;

export const Problem = ({ error }: { error: Error | undefined }) =>
  error === undefined ? null : (
    <p class="problem" role="alert">
      {error.message}
    </p>
  );

/** `/` leads to it (keyboard.tsx). */
export const Search = ({
  placeholder,
  value,
  onInput,
}: {
  placeholder: string;
  value: string;
  onInput: (value: string) => void;
}) => (
  <label class="wide">
    <span>Search</span>
    <input
      id="search"
      type="search"
      placeholder={placeholder}
      maxLength={200}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  </label>
);

/** A text to run elsewhere, and a button that copies it. */
export function Copied({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class="copied">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <button
        type="button"
        onClick={() =>
          void copyText(text).then(() => {
            setCopied(true);
            setTimeout(() => setCopied(false), 2_000);
          })
        }
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** Browsers give plain HTTP from other hosts no clipboard: the text is selected instead. */
async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** Asks before it does. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
          dialog.current?.close();
        }}
      >
        {children}
        <p class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary">
            {action}
          </button>
        </p>
      </form>
    </dialog>
  );
}
