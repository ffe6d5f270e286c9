import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";
import { expect, test } from "vitest";
import { compressors, xerial, zstdFrame } from "../batches.testing.ts";
import { decompress } from "./decompress.ts";

const [gzip, snappy, lz4, zstd] = [1, 2, 3, 4];
const most = 1_000_000;
const code = (codec: number, bytes: Buffer, bound = most): Promise<unknown> =>
  decompress(codec, bytes, bound).then(
    () => "read",
    (error: unknown) => (error as { code: string }).code,
  );

test.each([gzip, snappy, lz4, zstd])("codec %i gives back any bytes, and none above the bound", async (codec) => {
  const repeated = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.integer({ min: 1, max: 500 }));
  await fc.assert(
    fc.asyncProperty(repeated, async ([part, times]) => {
      const bytes = Buffer.concat(Array.from({ length: times }, () => Buffer.from(part)));
      const packed = compressors[codec]!(bytes);
      expect((await decompress(codec, packed, bytes.length)).equals(bytes)).toBe(true);
      expect(await code(codec, packed, bytes.length - 1)).toBe("batch_too_large");
    }),
    { numRuns: 50 },
  );
});

test.each([gzip, snappy, lz4, zstd])("codec %i names damaged bytes, and throws nothing else", async (codec) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 500 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      fc.nat(),
      async (part, at, flip, end) => {
        const packed = Buffer.from(compressors[codec]!(Buffer.concat([part, part, part])));
        packed[at % packed.length]! ^= flip;
        expect(["read", "corrupt_batch", "batch_too_large"]).toContain(await code(codec, packed));
        expect(["read", "corrupt_batch", "batch_too_large"]).toContain(
          await code(codec, packed.subarray(0, end % packed.length)),
        );
      },
    ),
    { numRuns: 500 },
  );
});

const text = Buffer.from("a request, and the same request again; ".repeat(5_000));

test.each([
  ["snappy without framing, as librdkafka writes it", snappy, compressSync(text)],
  [
    "two streams of snappy-java behind each other",
    snappy,
    Buffer.concat([xerial(text.subarray(0, 9_000)), xerial(text.subarray(9_000))]),
  ],
  ["two members of gzip", gzip, Buffer.concat([gzipSync(text.subarray(0, 9_000)), gzipSync(text.subarray(9_000))])],
  [
    "LZ4 with checksums of blocks and content",
    lz4,
    compressFrameSync(text, { blockChecksums: true, contentChecksum: true }),
  ],
  [
    "two frames of Zstandard, one with its size, and one to be skipped",
    zstd,
    Buffer.concat([
      zstdFrame([text.subarray(0, 9_000)], true),
      Buffer.from("502a4d1803000000aabbcc", "hex"),
      zstdFrame([text.subarray(9_000)]),
    ]),
  ],
] as const)("%s", async (_name, codec, packed) => {
  expect((await decompress(codec, packed, text.length)).equals(text)).toBe(true);
});

test.each([0, 5, 6, 7])("codec %i is none that Kafka has", async (codec) => {
  expect(await code(codec, text)).toBe("unknown_codec");
});

const zeros = Buffer.alloc(100_000_000);

test.each([
  ["gzip", gzip, gzipSync(zeros)],
  // The last member's length is small.
  ["gzip with a small member behind it", gzip, Buffer.concat([gzipSync(zeros), gzipSync(Buffer.from("x"))])],
  ["snappy", snappy, compressSync(zeros)],
  ["snappy in small blocks", snappy, xerial(zeros.subarray(0, 8_000_000), 1_000_000)],
  ["LZ4", lz4, compressFrameSync(zeros)],
  ["Zstandard", zstd, zstdFrame(Array.from({ length: 800 }, () => ({ byte: 0, times: 128 * 1024 })))],
] as const)("a bomb of %s is refused within the memory of its bound", async (_name, codec, bomb) => {
  expect(bomb.length).toBeLessThan(5_000_000);
  expect(await code(codec, bomb, 4_000_000)).toBe("batch_too_large");
});

/** A frame of LZ4 or a stream of snappy-java, of blocks that hold one byte each. */
const tinyBlocks: Record<string, (count: number) => Buffer> = {
  lz4: (count) =>
    Buffer.concat([
      Buffer.from("04224d186040af", "hex"),
      ...Array.from({ length: count }, () => Buffer.from("020000001078", "hex")),
      Buffer.alloc(4),
    ]),
  snappy: (count) => xerial(Buffer.alloc(count, "x"), 1),
};

test.each([
  ["lz4", lz4],
  ["snappy", snappy],
] as const)("a batch of more blocks of %s than any producer writes is refused", async (name, codec) => {
  expect(await code(codec, tinyBlocks[name]!(1_000))).toBe("read");
  expect(await code(codec, tinyBlocks[name]!(100_000))).toBe("corrupt_batch");
});
