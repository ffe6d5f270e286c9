// Small pieces that all views are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RequestState } from "../data/types/requests.ts";
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

export const ConfirmTakingOut = ({ id, ...on }: { id: string; onConfirm: () => void; onClose: () => void }) => (
  <Confirm title={`Take example ${id.slice(0, 12)} out?`} action="Take out" {...on}>
    <p>No later request is shown it. A good rating of its answer may make it an example again.</p>
  </Confirm>
);

/** What came of an act; read out when it changes. */
export const Outcome = ({ children }: { children: ComponentChildren }) => (
  <p class="note" role="status">
    {children}
  </p>
);
