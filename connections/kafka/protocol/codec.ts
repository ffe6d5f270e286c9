// Requests that kafkajs 2.2.4 does not have, in the flexible encoding that they have alone (compact
// strings and arrays, tagged fields).
import { internals, type DecoderLike, type EncoderLike, type RawRequest } from "../kafkajs-internals.ts";

const { Encoder, Decoder } = internals;

/** What a kafkajs connection sends, and how it reads the answer. */
export type Protocol<Answer> = Required<RawRequest<Answer>>;

/** Response with the milliseconds that kafkajs' connections wait before they send again. */
export interface Throttled {
  clientSideThrottleTime: number;
}

export interface RequestHead {
  apiKey: number;
  apiVersion: number;
  apiName: string;
}

/**
 * kafkajs writes the header up to the client id; there are no tagged fields. `check` throws what is
 * refused; without it the caller looks for refusals in the answer.
 */
export function flexible<Answer>(
  head: RequestHead,
  write: (body: EncoderLike) => void,
  read: (body: DecoderLike) => Answer,
  check?: (answer: Answer) => void,
): Protocol<Answer> {
  return {
    request: {
      ...head,
      encode() {
        const body = new Encoder().writeUVarIntBytes();
        write(body);
        return Promise.resolve(body.writeUVarIntBytes());
      },
    },
    response: {
      decode(raw) {
        const decoder = new Decoder(raw);
        skipTags(decoder);
        const answer = read(decoder);
        skipTags(decoder);
        return Promise.resolve(answer);
      },
      parse(answer) {
        check?.(answer);
        return Promise.resolve(answer);
      },
    },
    logResponseError: check !== undefined,
  };
}

/** A finished encoder, in the form in which kafkajs' connections take an encoded body. */
export const written = (bytes: Buffer): EncoderLike =>
  Object.assign(new Encoder(), { buf: bytes, offset: bytes.length });

/** One entry of an array: what write puts, and no tagged fields. */
export function entry(write: (encoder: EncoderLike) => unknown): EncoderLike {
  const encoder = new Encoder();
  write(encoder);
  return encoder.writeUVarIntBytes();
}

export const int32s = (values: readonly number[]): EncoderLike[] =>
  values.map((value) => new Encoder().writeInt32(value));
export const int64s = (values: readonly string[]): EncoderLike[] =>
  values.map((value) => new Encoder().writeInt64(value));
export const strings = (values: readonly string[]): EncoderLike[] =>
  values.map((value) => new Encoder().writeUVarIntString(value));

/** An array whose entries end with tagged fields. A null array is an empty one. */
export function entries<T>(decoder: DecoderLike, read: (decoder: DecoderLike) => T): T[] {
  const found = decoder.readUVarIntArray((d) => {
    const value = read(d);
    skipTags(d);
    return value;
  }) as T[] | null;
  return found ?? [];
}

/** Tagged fields. kafkajs' own readTaggedFields loses its place when there are any. */
export function forEachTag(decoder: DecoderLike, take: (tag: number, value: DecoderLike) => void): void {
  for (let left = decoder.readUVarInt(); left > 0; left--) {
    const tag = decoder.readUVarInt();
    const size = decoder.readUVarInt();
    take(tag, decoder.slice(size));
    decoder.forward(size);
  }
}

export const skipTags = (decoder: DecoderLike): void => forEachTag(decoder, () => undefined);
