// The level of the feature transaction.version that a cluster has agreed on: 2 on new ones.
// Producers that are initialised afterwards go by it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Kafka as KafkaClient } from "kafkajs";
import { apiVersionsV3 } from "../../connections/kafka/api-versions.ts";
import { ask, openCluster } from "../../connections/kafka/kafkajs-cluster.ts";
import { entry, flexible } from "../../connections/kafka/protocol/codec.ts";

const feature = "transaction.version";
const [upgrade, downgrade] = [1, 2];
const withinMs = 30_000;

const updateFeatures = (level: number, kind: number) =>
  flexible(
    { apiKey: 57, apiVersion: 1, apiName: "UpdateFeatures" },
    (body) =>
      body
        .writeInt32(withinMs)
        .writeUVarIntArray([entry((e) => e.writeUVarIntString(feature).writeInt16(level).writeInt8(kind))])
        .writeBoolean(false),
    (answer) => {
      answer.readInt32(); // throttle time
      return { errorCode: answer.readInt16(), why: answer.readUVarIntString() };
    },
  );

/** Resolves when every broker has heard of it. */
export async function setTransactionVersion(client: KafkaClient, level: 0 | 1 | 2): Promise<void> {
  const cluster = openCluster(client);
  try {
    const all = await cluster.brokers();
    const levels = (): Promise<number[]> =>
      Promise.all(all.map(async ({ broker }) => (await ask(broker, apiVersionsV3)).finalised.get(feature) ?? 0));
    const [now = 0] = await levels();
    if (now !== level) {
      const [first] = all;
      const { errorCode, why } = await ask(first!.broker, updateFeatures(level, now < level ? upgrade : downgrade));
      if (errorCode !== 0) throw new Error(`${feature} can't be ${level}: ${String(why)} (${errorCode})`);
    }
    for (const end = Date.now() + withinMs; (await levels()).some((its) => its !== level); await sleep(20))
      if (Date.now() > end) throw new Error(`${feature} does not become ${level}`);
  } finally {
    await cluster.close();
  }
}
