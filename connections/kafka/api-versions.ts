// ApiVersions v3, which kafkajs does not speak: beside the versions of requests it names the
// broker's features and the levels that it supports. metadata.version rises with every release
// line, so that it tells Kafka 4.3 from 4.2 without a version string. A broker that does not know
// v3 answers with an error in the format of v0: it names no features.
import { internals, type DecoderLike, type RawRequest } from "./kafkajs-internals.ts";

export interface Feature {
  name: string;
  lowest: number;
  highest: number;
}

const { Encoder, Decoder } = internals;
const unsupportedVersion = 35;
/** Tag of the supported features behind the fixed fields of the answer. */
const supportedFeaturesTag = 0;

export function encodeApiVersions(): ReturnType<RawRequest<unknown>["request"]["encode"]> {
  return Promise.resolve(
    new Encoder()
      .writeUVarIntBytes() // no tagged fields in the header
      .writeUVarIntString("precedent")
      .writeUVarIntString("1")
      .writeUVarIntBytes(),
  );
}

/** Features that the broker supports; none of one that is too old to name them. */
export function decodeFeatures(raw: Buffer): Feature[] {
  // Alone among the flexible answers this one has a header without tagged fields.
  const decoder = new Decoder(raw);
  const code = decoder.readInt16();
  if (code === unsupportedVersion) return [];
  if (internals.errors.failure(code)) throw internals.errors.createErrorFromCode(code);
  decoder.readUVarIntArray((d) => {
    d.forward(6); // a request's key, its lowest and its highest version
    forEachTag(d, () => undefined);
  });
  decoder.readInt32(); // throttle time
  const features: Feature[] = [];
  forEachTag(decoder, (tag, value) => {
    if (tag !== supportedFeaturesTag) return;
    const found = value.readUVarIntArray((d) => {
      const feature = { name: d.readUVarIntString() ?? "", lowest: d.readInt16(), highest: d.readInt16() };
      forEachTag(d, () => undefined);
      return feature;
    });
    features.push(...found);
  });
  return features;
}

/** kafkajs' own readTaggedFields loses its place when there are any. */
function forEachTag(decoder: DecoderLike, take: (tag: number, value: DecoderLike) => void): void {
  for (let left = decoder.readUVarInt(); left > 0; left--) {
    const tag = decoder.readUVarInt();
    const size = decoder.readUVarInt();
    take(tag, decoder.slice(size));
    decoder.forward(size);
  }
}

export const apiVersionsV3: RawRequest<Feature[]> = {
  request: { apiKey: 18, apiVersion: 3, apiName: "ApiVersions", encode: encodeApiVersions },
  response: { decode: (raw) => Promise.resolve(decodeFeatures(raw)), parse: (features) => Promise.resolve(features) },
};
