// An act of the reader: posts it, and says what came of it.
import type { ComponentChildren } from "preact";
import { errorOf } from "../../../connections/errors.ts";
import { useState } from "preact/hooks";
import { post } from "./api.ts";

export interface Act {
  /** What was done last; empty: nothing yet. */
  message: ComponentChildren;
  problem: Error | undefined;
  isBusy: boolean;
  act: <T>(path: string, body: unknown, done: (made: T) => ComponentChildren) => void;
}

/** `done` says what was done. A second act begins when the first has ended. */
export function useAct(): Act {
  const [state, setState] = useState<Omit<Act, "act">>({ message: "", problem: undefined, isBusy: false });
  return {
    ...state,
    act<T>(path: string, body: unknown, done: (made: T) => ComponentChildren) {
      if (state.isBusy) return;
      setState({ message: "…", problem: undefined, isBusy: true });
      post<T>(path, body).then(
        (made) => setState({ message: done(made), problem: undefined, isBusy: false }),
        (cause: unknown) => setState({ message: "", problem: errorOf(cause), isBusy: false }),
      );
    },
  };
}
