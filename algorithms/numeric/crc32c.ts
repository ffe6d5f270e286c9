// CRC-32C (Castagnoli), the checksum of Kafka's record batches: eight bytes a step, by eight tables
// ("slicing-by-8", Kounavis and Berry 2005).

/** x^32 + x^28 + ... + 1, its bits reversed. */
const polynomial = 0x82f63b78;
const slices = 8;

/** Table k: what a byte does to the checksum when k more bytes follow it. */
const tables = ((): Int32Array => {
  const made = new Int32Array(slices * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256]!;
    made[at] = (before >>> 8) ^ made[before & 255]!;
  }
  return made;
})();

/** CRC-32C of bytes[from, to), unsigned. */
export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  const t = tables;
  let crc = -1;
  let at = from;
  for (; at + slices <= to; at += slices) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t[1792 + (crc & 255)]! ^
      t[1536 + ((crc >>> 8) & 255)]! ^
      t[1280 + ((crc >>> 16) & 255)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + bytes[at + 4]!]! ^
      t[512 + bytes[at + 5]!]! ^
      t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < to; at++) crc = t[(crc ^ bytes[at]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
