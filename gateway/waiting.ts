// Listeners for responses: requests under way by reply partition and id. A record without a
// listener belongs to a client of the topics, or its caller has disconnected.
import type { Delta, Response } from "../schemas/types.ts";

export interface Listener {
  onResponse(response: Response): void;
  /** Pieces of its answer, where it is streamed. */
  onDelta?: ((delta: Delta) => void) | undefined;
}

export type Waiting = ReturnType<typeof createWaiting>;

export function createWaiting() {
  const partitions = new Map<number, Map<string, Set<Listener>>>();
  const listeners = (partition: number, id: string): readonly Listener[] => [
    ...(partitions.get(partition)?.get(id) ?? []),
  ];

  return {
    /** Call what it returns when the client stops listening. */
    add(partition: number, id: string, listener: Listener): () => void {
      const ids = partitions.get(partition) ?? new Map<string, Set<Listener>>();
      partitions.set(partition, ids);
      const those = ids.get(id) ?? new Set();
      ids.set(id, those.add(listener));
      return () => {
        those.delete(listener);
        if (those.size === 0 && ids.get(id) === those) ids.delete(id);
      };
    },
    has: (partition: number, id: string): boolean => partitions.get(partition)?.has(id) ?? false,
    /** Requests that wait for something on a partition. */
    openOn: (partition: number): number => partitions.get(partition)?.size ?? 0,
    response(partition: number, response: Response): void {
      for (const listener of listeners(partition, response.requestId)) listener.onResponse(response);
    },
    delta(partition: number, delta: Delta): void {
      for (const listener of listeners(partition, delta.requestId)) listener.onDelta?.(delta);
    },
  };
}
