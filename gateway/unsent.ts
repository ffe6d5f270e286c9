// What all connections of a gateway together hold of answers that their readers have not taken.
// Each has bounds of its own (an answer, slowReaderMs); this is the bound on all of them: beyond it
// the one that holds most is disconnected, and so on until the rest is within it. A reader that
// keeps up holds nothing and is none of them.
import type { ServerResponse } from "node:http";

export interface UnsentOptions {
  maxBytes: number;
  /** One was disconnected, which held so much. */
  onCut: (bytes: number) => void;
}

export type Unsent = ReturnType<typeof createUnsent>;

type Connection = Pick<ServerResponse, "destroyed" | "destroy">;

export function createUnsent({ maxBytes, onCut }: UnsentOptions) {
  /** Those that hold anything. */
  const held = new Map<Connection, number>();
  let total = 0;
  const set = (response: Connection, bytes: number): void => {
    total += bytes - (held.get(response) ?? 0);
    if (bytes > 0) held.set(response, bytes);
    else held.delete(response);
  };

  return {
    /** This connection holds so much from now on; 0 when it is closed. */
    holds(response: Connection, bytes: number): void {
      set(response, response.destroyed ? 0 : bytes);
      while (total > maxBytes) {
        const [largest, most] = [...held].reduce((one, other) => (other[1] > one[1] ? other : one));
        set(largest, 0);
        largest.destroy();
        onCut(most);
      }
    },
    total: (): number => total,
  };
}
