// Error boundary: the rest of the page stays, and a note shows the error.
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";

const Broken = ({ error, children }: { error: unknown; children?: ComponentChildren }) => (
  <div class="problem" role="alert">
    <p>
      <strong>This part of the page broke.</strong> The rest goes on; your data is unchanged.
    </p>
    <pre>{textOf(error)}</pre>
    {children}
  </div>
);

/** Set `key` to the view's name, so that another view starts without the error. */
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

/** Errors outside rendering: in event handlers and promises. */
export function OtherErrors() {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    // Browsers report this when they postpone a resize; it is harmless.
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
