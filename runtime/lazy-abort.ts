// An AbortController made lazily: Node takes microseconds for each, and most are not needed.

/** What says that something ends before its time, as an AbortSignal does. */
export interface Cancellation {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Its signal is made when it is first asked for. */
export class LazyAbort implements Cancellation {
  aborted = false;
  reason: unknown = undefined;
  private listeners: (() => void)[] = [];
  private controller: AbortController | undefined = undefined;

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** Once; later calls change nothing. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.controller?.abort(reason);
    const { listeners } = this;
    this.listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.listeners.indexOf(listener);
    if (at !== -1) this.listeners.splice(at, 1);
  }
}

/** For who takes nothing else. */
export const signalOf = (ends: Cancellation): AbortSignal =>
  ends instanceof LazyAbort ? ends.signal : (ends as AbortSignal);
