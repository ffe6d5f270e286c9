// Listeners for responses: requests under way by reply partition and id. A record without a
// listener belongs to a client of the topics, or its caller has disconnected.
import type { Delta, Response } from "../schemas/types.ts";

export interface Listener {
  onResponse(response: Response): void;
  /** Pieces of its answer, where it is streamed. */
  onDelta?: ((delta: Delta) => void) | undefined;
}

export interface Waiting {
  /** Call what it returns when the client stops listening. */
  add(partition: number, id: string, listener: Listener): () => void;
  has(partition: number, id: string): boolean;
  /** Requests that wait for something on a partition. */
  openOn(partition: number): number;
  response(partition: number, response: Response): void;
  delta(partition: number, delta: Delta): void;
}

export function createWaiting(): Waiting {
  const partitions = new Map<number, Map<string, Set<Listener>>>();
  const listeners = (partition: number, id: string): readonly Listener[] => [
    ...(partitions.get(partition)?.get(id) ?? []),
  ];

  return {
    add(partition, id, listener) {
      const ids = partitions.get(partition) ?? new Map<string, Set<Listener>>();
      partitions.set(partition, ids);
      const those = ids.get(id) ?? new Set();
      ids.set(id, those.add(listener));
      return () => {
        those.delete(listener);
        if (those.size === 0 && ids.get(id) === those) ids.delete(id);
      };
    },
    has: (partition, id) => partitions.get(partition)?.has(id) ?? false,
    openOn: (partition) => partitions.get(partition)?.size ?? 0,
    response(partition, response) {
      for (const listener of listeners(partition, response.requestId)) listener.onResponse(response);
    },
    delta(partition, delta) {
      for (const listener of listeners(partition, delta.requestId)) listener.onDelta?.(delta);
    },
  };
}
