// What this process committed: a killed broker can come back with older offsets. Pure.
import { sameOrigin, type Origin } from "../algorithms/identity/origin.ts";
import type { CommittedOffset, TopicPartition } from "../connections/kafka/port.ts";
import { partitionKey, type StoredPosition } from "./partition.ts";

export type KnownPositions = ReturnType<typeof createKnownPositions>;

export function createKnownPositions() {
  const known = new Map<string, { offset: number; metadata: string; origin: Origin }>();
  return {
    note(state: TopicPartition & { stored: StoredPosition; origin: Origin }): void {
      const { offset, metadata } = state.stored;
      if (offset !== undefined) known.set(partitionKey(state), { offset, metadata, origin: state.origin });
    },
    /** The later of the broker's and our own commit of the same topic. */
    later(position: CommittedOffset): CommittedOffset {
      const own = known.get(partitionKey(position));
      if (own === undefined || !sameOrigin(own.origin, position.current)) return position;
      if ((position.offset ?? -1) >= own.offset || own.offset > position.end) return position;
      return { ...position, ...own };
    },
  };
}
