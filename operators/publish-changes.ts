// Changes of examples, published together: all of them or none, and then they are the pool's that
// this process holds. The topic brings them too, but the next pass must know them already.
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { PoolChanges } from "../store/examples/port.ts";
import type { FencedProducer } from "../runtime/singleton.ts";
import type { ExampleChange } from "./example-change.ts";

export interface PublishChangesDependencies<T extends string> {
  writer: Pick<FencedProducer<T>, "publish">;
  /** What is published of them. */
  messages: (changes: readonly ExampleChange[]) => Promise<OutgoingMessage<T>[]>;
  /** undefined: this process holds none yet. */
  pool: () => Promise<PoolChanges> | undefined;
}

export function createPublishChanges<T extends string>({ writer, messages, pool }: PublishChangesDependencies<T>) {
  return async function publishChanges(changes: readonly ExampleChange[]): Promise<void> {
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
