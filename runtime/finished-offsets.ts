// Finished offsets beyond the committed one, as its metadata: bitmap or run lengths
// (docs/design/delivery.md, Finished offsets). The broker refuses more than 4,096 characters.

/** Offsets ahead of the committed one: their bitmap takes 2,732 characters. */
export const windowOffsets = 16_384;

/** Ascending offsets relative to the committed one, [0, windowOffsets). Empty: "". */
export function encodeFinished(relative: readonly number[]): string {
  const last = relative.at(-1);
  if (last === undefined) return "";
  if (last >= windowOffsets || (relative[0] ?? 0) < 0) {
    throw new RangeError(`offset ${last} lies outside the window of ${windowOffsets}`);
  }
  const bitmap = Buffer.alloc((last >> 3) + 1);
  for (const offset of relative) bitmap[offset >> 3] = (bitmap[offset >> 3] ?? 0) | (1 << (offset & 7));
  const runs = encodeRuns(relative);
  return runs.length < bitmap.length ? `r${runs.toString("base64")}` : `b${bitmap.toString("base64")}`;
}

/** Throws on text that encodeFinished can't have made. */
export function decodeFinished(metadata: string): number[] {
  if (metadata === "") return [];
  const bytes = Buffer.from(metadata.slice(1), "base64");
  if (metadata.startsWith("r")) return decodeRuns(bytes);
  if (metadata.startsWith("b")) {
    const offsets: number[] = [];
    bytes.forEach((byte, index) => {
      for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) offsets.push(index * 8 + bit);
    });
    return offsets;
  }
  throw new Error(`unknown form of offset metadata: ${JSON.stringify(metadata.slice(0, 20))}`);
}

/** Gap, length, gap, length, ... as LEB128. */
function encodeRuns(offsets: readonly number[]): Buffer {
  const bytes: number[] = [];
  const write = (value: number): void => {
    for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
    bytes.push(value);
  };
  let end = 0;
  for (let i = 0; i < offsets.length;) {
    const start = offsets[i] ?? 0;
    let length = 1;
    while (offsets[i + length] === start + length) length++;
    write(start - end);
    write(length);
    end = start + length;
    i += length;
  }
  return Buffer.from(bytes);
}

function decodeRuns(bytes: Buffer): number[] {
  const values: number[] = [];
  let value = 0;
  let shift = 0;
  for (const byte of bytes) {
    value |= (byte & 127) << shift;
    if (byte & 128) shift += 7;
    else {
      values.push(value);
      value = shift = 0;
    }
  }
  const offsets: number[] = [];
  let position = 0;
  for (let i = 0; i + 1 < values.length; i += 2) {
    position += values[i] ?? 0;
    for (let n = values[i + 1] ?? 0; n > 0 && offsets.length <= windowOffsets; n--) offsets.push(position++);
  }
  return offsets;
}
