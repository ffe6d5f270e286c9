// Changes of examples, published together: all of them or none, and then they are the pool's that
// this process holds. The topic brings them too, but the next pass must know them already.
import { erasedRequest } from "../algorithms/privacy/erasure.ts";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { PoolChanges } from "../state/examples/port.ts";
import type { FencedProducer } from "../runtime/singleton.ts";
import type { Erased } from "./erased.ts";
import type { ExampleChange } from "../state/examples/port.ts";

export interface PublishChangesDependencies<T extends string> {
  writer: Pick<FencedProducer<T>, "publish">;
  messages: (changes: readonly ExampleChange[]) => Promise<OutgoingMessage<T>[]>;
  /** undefined: this process holds none yet. */
  pool: () => Promise<PoolChanges> | undefined;
  erasedAmong: (hashes: Iterable<string>) => Promise<Erased>;
}

export function createPublishChanges<T extends string>(options: PublishChangesDependencies<T>) {
  const { writer, messages, pool, erasedAmong } = options;
  /** Its request may have been erased since it was read. */
  async function withoutErased(changes: readonly ExampleChange[]): Promise<readonly ExampleChange[]> {
    const erased = await erasedAmong(changes.flatMap(requestOf));
    return erased.size === 0
      ? changes
      : changes.filter((change) => !requestOf(change).some((hash) => erased.has(hash)));
  }

  return async function publishChanges(wanted: readonly ExampleChange[]): Promise<void> {
    if (wanted.length === 0) return;
    const changes = await withoutErased(wanted);
    if (changes.length === 0) return;
    await writer.publish(await messages(changes));
    const held = await pool();
    if (held === undefined) return;
    for (const { id, value } of changes) {
      if (value === null) await held.remove([id]);
      else await held.upsert([value]);
    }
  };
}

const requestOf = ({ value }: ExampleChange): string[] =>
  value === null || value.source.requestId === null ? [] : [erasedRequest(value.tenant, value.source.requestId)];
