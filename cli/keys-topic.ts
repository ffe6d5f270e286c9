// The topic `keys` as a command reads and writes it: whole, each key by its id.
import type { Session } from "../pipelines/session.ts";
import { idOfKey } from "../gateway/keys/key.ts";
import { readTable } from "../runtime/table.ts";
import type { ApiKey } from "../schemas/types.ts";
import { CommandError } from "./io.ts";

export async function readKeys({ kafka, codec, log, topic }: Session): Promise<ApiKey[]> {
  const found = await readTable({ kafka, codec, log, topic: topic("keys"), record: "keys" });
  return [...found.values()].toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** In the brokers when it resolves; gateways have them a moment later. */
export async function writeKeys({ kafka, codec, topic }: Session, keys: readonly ApiKey[]): Promise<void> {
  const producer = kafka.plainProducer();
  const messages = keys.map((key) => ({ topic: topic("keys"), key: key.id, value: codec.encode("keys", key) }));
  await producer.send(messages).finally(() => producer.close());
}

/** By id, or by the whole key; rejects names that there are none of. */
export function findKeys(keys: readonly ApiKey[], names: readonly string[]): ApiKey[] {
  const byId = new Map(keys.map((key) => [key.id, key]));
  const ids = [...new Set(names.map(idOfKey))];
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) throw new CommandError(`there is no key ${unknown.join(", ")}: precedent keys list`);
  return ids.flatMap((id) => byId.get(id) ?? []);
}
