// An example's removal as messages for its home and all copies, in one transaction, so that the
// mirror's copies come behind. A partition without a copy is not hurt.
import type { OutgoingMessage } from "../../connections/kafka/port.ts";
import { copyHeader } from "./mirror.ts";

/**
 * topic: full name. key: tenant/domain/example id. home: the key's partition. timestamp: ms, the
 * same for all, by which ClickHouse tells the newest state.
 */
export function removalMessages<T extends string>(
  { topic, key, timestamp }: { topic: T; key: string; timestamp: number },
  home: number,
  others: Iterable<number>,
): OutgoingMessage<T>[] {
  const tombstone = { topic, key, value: null, timestamp };
  return [
    { ...tombstone, partition: home },
    ...[...others]
      .filter((partition) => partition !== home)
      .map((partition) => ({ ...tombstone, partition, headers: { [copyHeader]: "1" } })),
  ];
}
