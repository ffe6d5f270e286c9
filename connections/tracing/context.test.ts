import { trace } from "@opentelemetry/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { contextOf, headersOf } from "./context.ts";
import type { ForeignHeaders } from "./port.ts";

const hex = (digits: number) =>
  fc
    .array(fc.constantFrom(..."0123456789abcdef".split("")), { minLength: digits, maxLength: digits })
    .map((array) => array.join(""))
    .filter((id) => /[^0]/.test(id));
const state = fc.option(
  fc.array(fc.tuple(fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/), fc.stringMatching(/^[A-Za-z0-9]{1,12}$/)), {
    minLength: 1,
    maxLength: 8,
  }),
  { nil: undefined },
);
const spanIn = (headers: ForeignHeaders) => trace.getSpanContext(contextOf(headers));

test("what is written as headers is read again, as text and as bytes of a record", () => {
  fc.assert(
    fc.property(hex(32), hex(16), fc.boolean(), state, fc.boolean(), (traceId, spanId, isSampled, entries, asBytes) => {
      const given = {
        traceparent: `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`,
        ...(entries && { tracestate: [...new Map(entries)].map(([key, value]) => `${key}=${value}`).join(",") }),
      };
      const headers = asBytes
        ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Buffer.from(value)]))
        : given;
      const read = spanIn(headers);
      expect(read).toMatchObject({ traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true });
      expect(headersOf(read!)).toEqual(given);
    }),
  );
});

test("whatever else a client writes counts as absent, and never throws", () => {
  const valid = /^\s?(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}/;
  const wrong = fc.oneof(
    fc.string({ unit: "binary", maxLength: 600 }),
    fc.stringMatching(/^0[0-9a-f]-[0-9a-fA-F]{30,34}-[0-9a-f]{14,18}-[0-9a-z]{0,3}$/),
  );
  fc.assert(
    fc.property(wrong, fc.string({ maxLength: 600 }), (traceparent, tracestate) => {
      fc.pre(!valid.test(traceparent));
      expect(spanIn({ traceparent: Buffer.from(traceparent), tracestate })).toBeUndefined();
      expect(spanIn({ traceparent: [traceparent, traceparent], tracestate })).toBeUndefined();
    }),
  );
});

test.each([
  ["no trace", `00-${"0".repeat(32)}-${"1".repeat(16)}-01`],
  ["no span", `00-${"1".repeat(32)}-${"0".repeat(16)}-01`],
  ["a version that is none", `ff-${"1".repeat(32)}-${"1".repeat(16)}-01`],
  ["more than version 00 has", `00-${"1".repeat(32)}-${"1".repeat(16)}-01-more`],
  ["a megabyte", `01-${"1".repeat(32)}-${"1".repeat(16)}-01-${"x".repeat(1_000_000)}`],
])("a traceparent with %s counts as absent", (_what, traceparent) => {
  expect(spanIn({ traceparent })).toBeUndefined();
  expect(spanIn({ traceparent: Buffer.from(traceparent) })).toBeUndefined();
});
