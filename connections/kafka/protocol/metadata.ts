// Metadata v11 and v12 (Kafka 2.8), of which we want what kafkajs' v6 lacks: the ids of topics. A
// topic that was deleted and made again has another.
import { internals, type DecoderLike } from "../kafkajs-internals.ts";
import { entries, skipTags } from "./codec.ts";

export interface TopicIds {
  clusterId: string | undefined;
  topics: { topic: string; errorCode: number; id: string | undefined }[];
}

export const metadataKey = 3;
export const metadataVersions = { min: 11, max: 12 };

/** What a kafkajs connection sends, and how it reads the answer. */
export interface MetadataProtocol {
  request: { apiKey: number; apiVersion: number; apiName: string; encode(): Promise<unknown> };
  response: { decode(raw: Buffer): Promise<TopicIds>; parse(answer: TopicIds): Promise<TopicIds> };
}

const noId = Buffer.alloc(16);

export function metadata(topics: readonly string[], apiVersion: number): MetadataProtocol {
  const { Encoder, Decoder } = internals;
  return {
    request: {
      apiKey: metadataKey,
      apiVersion,
      apiName: "Metadata",
      encode: () =>
        Promise.resolve(
          new Encoder()
            .writeUVarIntBytes() // no tagged fields in the header
            .writeUVarIntArray(
              topics.map((topic) =>
                new Encoder().writeInt64(0).writeInt64(0).writeUVarIntString(topic).writeUVarIntBytes(),
              ),
            )
            .writeBoolean(false) // topics are not made by asking
            .writeBoolean(false) // nor what may be done with them
            .writeUVarIntBytes(),
        ),
    },
    response: {
      decode(raw) {
        const decoder = new Decoder(raw);
        skipTags(decoder);
        decoder.readInt32(); // throttle time
        entries(decoder, (d) => [d.readInt32(), d.readUVarIntString(), d.readInt32(), d.readUVarIntString()]); // brokers
        const clusterId = decoder.readUVarIntString() ?? undefined;
        decoder.readInt32(); // controller
        return Promise.resolve({ clusterId, topics: entries(decoder, readTopic) });
      },
      parse: (answer) => Promise.resolve(answer),
    },
  };
}

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
