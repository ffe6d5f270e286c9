// Rows of a table as JSON lines in chunks off V8's heap, sent as they are (chunks.ts).
import { wellFormedJson } from "../algorithms/text/well-formed.ts";
import { createChunks, type Chunks } from "./chunks.ts";
import type { Lines, Row, Source } from "./rows.ts";

export interface LinesBuilder extends Lines {
  bytes(): number;
  add(row: Row, source: Source): void;
}

const lineEnd = 0x0a;
/** UTF-8 bytes of a UTF-16 unit, at most. */
const widest = 3;

export function createLines(chunks: Chunks = createChunks()): LinesBuilder {
  const sources: Source[] = [];
  const ends: number[] = [];
  const parts: { chunk: Buffer; from: number; used: number }[] = [];
  const months: number[] = [];
  let month = "";
  let size = 0;

  /** The last chunk, or another one where it has no room for that many bytes. */
  function partFor(bytes: number): (typeof parts)[number] {
    const last = parts.at(-1);
    if (last !== undefined && last.chunk.length - last.used >= bytes) return last;
    const next = { chunk: chunks.take(bytes), from: size, used: 0 };
    parts.push(next);
    return next;
  }

  function bytesOf(from: number, to: number): Buffer[] {
    const begin = from === 0 ? 0 : (ends[from - 1] ?? size);
    const end = to === 0 ? 0 : (ends[to - 1] ?? size);
    return parts
      .filter((part) => part.from < end && part.from + part.used > begin)
      .map(({ chunk, from: at, used }) => chunk.subarray(Math.max(begin - at, 0), Math.min(end - at, used)));
  }

  return {
    get length() {
      return ends.length;
    },
    months,
    bytes: () => size,
    bytesOf,
    source(index) {
      const found = sources[index];
      if (found === undefined) throw new RangeError(`there is no row ${index} of ${sources.length}`);
      return found;
    },
    row: (index) => JSON.parse(Buffer.concat(bytesOf(index, index + 1)).toString("utf8")) as Row,
    add(row, source) {
      const text = wellFormedJson(row);
      // How long it is exactly, only near a chunk's end.
      let part = parts.at(-1);
      if (part === undefined || part.chunk.length - part.used < text.length * widest + 1)
        part = partFor(Buffer.byteLength(text) + 1);
      const written = part.chunk.write(text, part.used) + 1;
      part.used += written;
      part.chunk[part.used - 1] = lineEnd;
      size += written;
      if (!row.created_at.startsWith(month) || ends.length === 0) {
        month = row.created_at.slice(0, 7);
        months.push(ends.length);
      }
      ends.push(size);
      sources.push(source);
    },
  };
}
