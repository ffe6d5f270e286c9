// Values as ClickHouse reads them in JSONEachRow: what JSON can't say (NaN, bytes, times out of
// range) is said so that no row is refused for it.
import { originText, unknownOrigin, type Origin } from "../../algorithms/identity/origin.ts";

/** Where a record stands, and its Kafka timestamp in milliseconds since the epoch. */
export interface RowPosition {
  topic: string;
  partition: number;
  offset: number;
  timestamp: number;
  /** When it came to the broker. Absent: history, dated by itself. */
  arrivedAt?: number;
  /** What the offset belongs to (algorithms/identity/origin.ts). Absent: not known. */
  origin?: Origin;
  /** Header traceparent of the record, as it came. Absent: none. */
  traceparent?: Buffer | undefined;
}

const traceForm = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}(?:$|-)/;

/** Trace id of a W3C traceparent; "" where there is none or it is malformed. */
export const traceIdOf = (traceparent: Buffer | undefined): string =>
  traceForm.exec(traceparent?.toString("latin1") ?? "")?.[1] ?? "";

export const clientTime = (reported: number | null, { arrivedAt, timestamp }: RowPosition): number =>
  arrivedAt ?? reported ?? timestamp;

/** When a record of our own stages was made: by the clock of its host, but not after it came. */
export const ownTime = (createdAt: number, { arrivedAt = Infinity }: RowPosition): number =>
  Math.min(createdAt, arrivedAt);

export const at = ({ topic, partition, offset, origin = unknownOrigin }: RowPosition): object => ({
  topic,
  kafka_partition: partition,
  kafka_offset: offset,
  kafka_origin: originText(origin),
});

// DateTime64(3) ends in 2299; TTLs are counted in DateTime, which ends in 2106. A clock that is
// wrong must not make a row that can't be kept.
const latest = Date.UTC(2100, 0, 1);

/** Milliseconds since the epoch, within 1970 and 2100, as DateTime64(3, 'UTC') reads them. */
export function time(milliseconds: number): string {
  const within = Number.isFinite(milliseconds) ? Math.min(Math.max(Math.round(milliseconds), 0), latest) : 0;
  const whole = Math.floor(within / 1_000);
  if (whole !== second.at) second = { at: whole, text: secondText(whole) };
  return `${second.text}.${String(within - 1_000 * whole).padStart(3, "0")}`;
}

const secondText = (whole: number): string =>
  new Date(1_000 * whole).toISOString().slice(0, -".000Z".length).replace("T", " ");

/** The last one that was asked for: most times of a batch lie in few seconds. */
let second = { at: 0, text: secondText(0) };

export const timeOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : time(milliseconds);

/** NaN and infinity as text, which ClickHouse reads; JSON has neither. */
export const double = (value: number): number | string => {
  if (Number.isFinite(value)) return value;
  if (Number.isNaN(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
};

const scales = [1e8, 1e10];

/** A float32 in ten digits at most instead of a double's seventeen; another number as it is. */
export function single(value: number): number | string {
  if (!Number.isFinite(value)) return double(value);
  for (const scale of scales) {
    const short = Math.round(value * scale) / scale;
    if (Math.fround(short) === value) return short;
  }
  // Near zero: significant digits, which take longer to find.
  const nine = Number(value.toPrecision(9));
  return Math.fround(nine) === value ? nine : value;
}

/** The array itself where JSON can say all of it. */
export const doubles = (values: readonly number[]): readonly (number | string)[] =>
  values.every(Number.isFinite) ? values : values.map(double);

export const doubleOrNull = (value: number | null): number | string | null => (value === null ? null : double(value));

export const base64 = (bytes: Buffer): string => bytes.toString("base64");

export const base64OrNull = (bytes: Buffer | null): string | null => (bytes === null ? null : base64(bytes));

/** Little-endian float32; bytes beyond the last whole number are left out. */
export function floats(bytes: Buffer): (number | string)[] {
  const values: (number | string)[] = [];
  for (let offset = 0; offset + 4 <= bytes.length; offset += 4) values.push(single(bytes.readFloatLE(offset)));
  return values;
}
