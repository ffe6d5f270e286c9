// For what is worth telling, but not every time: true after `first` milliseconds, then each time after twice as long, up to `limit`.
export function rarely({ first, limit }: { first: number; limit: number }, now: () => number): () => boolean {
  let due = now() + first;
  let pause = Math.min(2 * first, limit);
  return () => {
    if (now() < due) return false;
    due = now() + pause;
    pause = Math.min(2 * pause, limit);
    return true;
  };
}
