// Finds stop strings in text that comes piece by piece, and holds back what may turn out to be the start of one.

export interface StopMatcher {
  /** The text that is surely part of the answer; empty once stopped. */
  push(text: string): string;
  /** What was held back, when the text ended without a stop string. */
  flush(): string;
  readonly stopped: boolean;
}

/** The stop string that is complete first ends the text, whatever the pieces; the stop string itself is dropped. Empty ones are ignored. */
export function createStopMatcher(stopStrings: readonly string[]): StopMatcher {
  const stops = stopStrings.filter((stop) => stop !== "");
  let held = "";
  let stopped = false;

  function push(text: string): string {
    if (stopped) return "";
    held += text;
    let start = -1;
    let end = Infinity;
    for (const stop of stops) {
      const at = held.indexOf(stop);
      if (at < 0) continue;
      if (at + stop.length < end || (at + stop.length === end && at < start)) [start, end] = [at, at + stop.length];
    }
    stopped = start >= 0;
    const sure = stopped ? start : held.length - Math.max(0, ...stops.map((stop) => overlap(held, stop)));
    const out = held.slice(0, sure);
    held = stopped ? "" : held.slice(sure);
    return out;
  }

  function flush(): string {
    const rest = held;
    held = "";
    return rest;
  }

  return {
    push,
    flush,
    get stopped() {
      return stopped;
    },
  };
}

/** Length of the longest end of `text` that is a beginning of `stop`, without being all of it. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length -= 1)
    if (stop.startsWith(text.slice(text.length - length))) return length;
  return 0;
}
