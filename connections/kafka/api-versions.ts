// ApiVersions v3, which kafkajs does not speak: beside the versions of requests it names the
// broker's features and the levels that it supports. metadata.version rises with every release
// line, so that it tells Kafka 4.3 from 4.2 without a version string. And it names the levels that
// the cluster as a whole has agreed on (finalised). A broker that does not know v3 answers with an
// error in the format of v0: it names no features.
import { internals, type RawRequest } from "./kafkajs-internals.ts";
import { forEachTag, skipTags } from "./protocol/codec.ts";

export interface Feature {
  name: string;
  lowest: number;
  highest: number;
}

export interface Features {
  /** By this broker. */
  supported: Feature[];
  /** By the cluster; empty while the broker does not know yet. */
  finalised: ReadonlyMap<string, number>;
}

const { Encoder, Decoder } = internals;
const unsupportedVersion = 35;
/** Tags behind the fixed fields of the answer. */
const tags = { supported: 0, finalised: 2 };

export function encodeApiVersions(): ReturnType<RawRequest<unknown>["request"]["encode"]> {
  return Promise.resolve(
    new Encoder()
      .writeUVarIntBytes() // no tagged fields in the header
      .writeUVarIntString("precedent")
      .writeUVarIntString("1")
      .writeUVarIntBytes(),
  );
}

/** None of a broker that is too old to name them. */
export function decodeFeatures(raw: Buffer): Features {
  // Alone among the flexible answers this one has a header without tagged fields.
  const decoder = new Decoder(raw);
  const code = decoder.readInt16();
  const supported: Feature[] = [];
  const finalised = new Map<string, number>();
  if (code === unsupportedVersion) return { supported, finalised };
  if (internals.errors.failure(code)) throw internals.errors.createErrorFromCode(code);
  decoder.readUVarIntArray((d) => {
    d.forward(6); // a request's key, its lowest and its highest version
    skipTags(d);
  });
  decoder.readInt32(); // throttle time
  forEachTag(decoder, (tag, value) => {
    if (tag !== tags.supported && tag !== tags.finalised) return;
    value.readUVarIntArray((d) => {
      const name = d.readUVarIntString() ?? "";
      const [first, second] = [d.readInt16(), d.readInt16()];
      skipTags(d);
      if (tag === tags.supported) supported.push({ name, lowest: first, highest: second });
      else finalised.set(name, first); // the highest level comes first here
    });
  });
  return { supported, finalised };
}

export const apiVersionsV3: RawRequest<Features> = {
  request: { apiKey: 18, apiVersion: 3, apiName: "ApiVersions", encode: encodeApiVersions },
  response: { decode: (raw) => Promise.resolve(decodeFeatures(raw)), parse: (features) => Promise.resolve(features) },
};
