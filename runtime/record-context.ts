// What the steps of a pipeline are given with a record. A class, since an object with accessors of
// its own takes longer to make than most steps take.
import type { Logger } from "pino";
import type { StepTiming } from "../schemas/types.ts";
import type { LazyAbort } from "./lazy-abort.ts";
import type { StepContext } from "./step.ts";

export class RecordContext implements StepContext {
  readonly timings: StepTiming[] = [];
  private named: Logger | undefined = undefined;

  constructor(
    readonly cancellation: LazyAbort,
    readonly deadline: number,
    private readonly name: () => Logger,
  ) {}

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  /** Few records have anything to say, and a logger of its own is expensive. */
  get log(): Logger {
    return (this.named ??= this.name());
  }
}
