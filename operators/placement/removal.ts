// The removal of an example as messages: for its home, and for all other partitions on which a copy
// of it may lie, so that none is shown until the mirror (mirror.ts) comes by. They belong into one
// transaction: the mirror sees the home's only when all of them lie on the topic, so what it copies
// comes behind them, and the copies end as the home does all the same. A partition without a copy
// is not hurt.
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
