// What is left of the page when a part of it breaks: the rest, and a note of what broke.
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";

const Broken = ({ error, children }: { error: unknown; children?: ComponentChildren }) => (
  <div class="problem" role="alert">
    <p>
      <strong>This part of the page broke.</strong> The rest goes on; nothing of your data is changed.
    </p>
    <pre>{textOf(error)}</pre>
    {children}
  </div>
);

/** `key` it by what it shows: another view starts without the error. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary() as [unknown, () => void];
  if (error === undefined) return <>{children}</>;
  return (
    <Broken error={error}>
      <button type="button" onClick={again}>
        Try again
      </button>
    </Broken>
  );
}

/** Errors outside of what is drawn: of handlers, and of promises. */
export function OtherErrors() {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    // Browsers tell of it when they postpone a resize; nothing broke.
    const isHarmless = (message: unknown): boolean => String(message).startsWith("ResizeObserver loop");
    const failed = (event: ErrorEvent): void => {
      if (!isHarmless(event.message)) setError(event.error ?? event.message);
    };
    const rejected = (event: PromiseRejectionEvent): void => setError(event.reason);
    addEventListener("error", failed);
    addEventListener("unhandledrejection", rejected);
    return () => {
      removeEventListener("error", failed);
      removeEventListener("unhandledrejection", rejected);
    };
  }, []);
  return error === undefined ? null : (
    <Broken error={error}>
      <button type="button" onClick={() => setError(undefined)}>
        Close
      </button>
    </Broken>
  );
}

/** The message, and where: what a bug report needs. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const where = (error.stack ?? "").split("\n").filter((line) => line.includes("/page/files/"));
  return [`${error.name}: ${error.message}`, ...where.slice(0, 3)].join("\n");
}
