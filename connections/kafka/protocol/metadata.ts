// Metadata v11 and v12 (Kafka 2.8), of which we want what kafkajs' v6 lacks: the ids of topics. A
// topic that was deleted and made again has another.
import type { DecoderLike } from "../kafkajs-internals.ts";
import { entries, entry, flexible, type Protocol } from "./codec.ts";

export interface TopicIds {
  clusterId: string | undefined;
  topics: { topic: string; errorCode: number; id: string | undefined }[];
}

export const metadataKey = 3;
export const metadataVersions = { min: 11, max: 12 };

const noId = Buffer.alloc(16);

export const metadata = (topics: readonly string[], apiVersion: number): Protocol<TopicIds> =>
  flexible(
    { apiKey: metadataKey, apiVersion, apiName: "Metadata" },
    (body) =>
      body
        .writeUVarIntArray(topics.map((topic) => entry((e) => e.writeInt64(0).writeInt64(0).writeUVarIntString(topic))))
        .writeBoolean(false) // topics are not made by asking
        .writeBoolean(false), // nor what may be done with them
    (answer) => {
      answer.readInt32(); // throttle time
      entries(answer, (d) => [d.readInt32(), d.readUVarIntString(), d.readInt32(), d.readUVarIntString()]); // brokers
      const clusterId = answer.readUVarIntString() ?? undefined;
      answer.readInt32(); // controller
      return { clusterId, topics: entries(answer, readTopic) };
    },
  );

function readTopic(decoder: DecoderLike): TopicIds["topics"][number] {
  const errorCode = decoder.readInt16();
  const topic = decoder.readUVarIntString() ?? "";
  const id = decoder.readBytes(16);
  decoder.readBoolean();
  entries(decoder, (partition) => {
    partition.readInt16();
    for (let field = 0; field < 3; field++) partition.readInt32(); // index, leader, its epoch
    for (let list = 0; list < 3; list++) partition.readUVarIntArray((node) => node.readInt32());
  });
  decoder.readInt32(); // what may be done with it
  // As Kafka writes it.
  return { topic, errorCode, id: id.equals(noId) ? undefined : id.toString("base64url") };
}
