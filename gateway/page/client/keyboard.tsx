// What the keyboard does: everything, without a mouse.
import { useEffect, useRef } from "preact/hooks";
import { linkTo } from "./hooks.ts";

interface Keys {
  views: readonly string[];
  toggle: () => void;
  help: () => void;
}

const shortcuts: readonly (readonly [keys: string, what: string])[] = [
  ["/", "search"],
  ["j, k", "next row, row before"],
  ["Enter", "open the row"],
  ["Backspace", "back"],
  ["1 to 9, 0", "views"],
  ["p", "pause, and go on"],
  ["t", "light or dark"],
  ["Esc", "leave a field, close a dialog"],
  ["?", "this list"],
];

export function useKeyboard({ views, toggle, help }: Keys): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const target = event.target instanceof HTMLElement ? event.target : null;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null) return;
      if (target?.matches("input, select, textarea") === true) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const view = /^[0-9]$/.test(event.key) ? views[(Number(event.key) + 9) % 10] : undefined;
      if (view !== undefined) location.hash = linkTo(view);
      else if (event.key === "j") moveRow(1);
      else if (event.key === "k") moveRow(-1);
      else if (event.key === "t") toggle();
      else if (event.key === "?") help();
      else if (event.key === "p") document.getElementById("pause")?.click();
      else if (event.key === "Backspace") history.back();
      else if (event.key === "/") document.getElementById("search")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [views, toggle, help]);
}

/** Rows are links: the one that has the focus is where we are. */
function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

export function Shortcuts({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="shortcuts-title">
      <h2 id="shortcuts-title">Shortcuts</h2>
      <table>
        <tbody>
          {shortcuts.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="actions">
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </p>
    </dialog>
  );
}
