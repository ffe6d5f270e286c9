import fc from "fast-check";
import { expect, test } from "vitest";
import { crc32c } from "./crc32c.ts";

/** Bit by bit, as the polynomial says. */
function slowly(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

test("gives the values of RFC 3720, B.4, and the usual check value", () => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
  expect(crc32c(Buffer.alloc(0))).toBe(0);
});

test("equals the bitwise checksum for any bytes, of any part of them", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), fc.nat(100), (bytes, one, other) => {
      const [from, to] = [Math.min(one, other, bytes.length), Math.min(Math.max(one, other), bytes.length)];
      expect(crc32c(bytes, from, to)).toBe(slowly(bytes.subarray(from, to)));
    }),
  );
});
