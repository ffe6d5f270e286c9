// For what is worth telling, but not every time: true after `first` milliseconds, then each time
// after twice as long, up to `limit`.
import { backoff, type Waits } from "./backoff.ts";

export function rarely(pauses: Waits, now: () => number): () => boolean {
  const waits = backoff(pauses);
  let due = now() + waits.next();
  return () => {
    if (now() < due) return false;
    due = now() + waits.next();
    return true;
  };
}
