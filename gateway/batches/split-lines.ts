// Splits an upload into lines at LF, holding one line in memory. A line that is too long is cut.

export interface RawLine {
  /** From 1; blank lines count. */
  line: number;
  /** Without LF or CRLF; the first bytes of a line that is too long. */
  bytes: Buffer;
  tooLong: boolean;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from("\uFEFF");
/** Bytes kept of a line that is too long. */
const headBytes = 4_096;

/** Leaves out blank lines. most: maximum bytes of a line. */
export async function* splitLines(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<RawLine> {
  let line = 1;
  let length = 0;
  let pieces: Buffer[] = [];

  const keep = (piece: Buffer): void => {
    length += piece.length;
    if (length <= most) pieces.push(piece);
    // Cut now, since a line without an end must not fill the memory.
    else if (pieces.length !== 1 || pieces[0]!.length !== headBytes)
      pieces = [Buffer.concat([...pieces, piece.subarray(0, headBytes)]).subarray(0, headBytes)];
  };
  const take = (): RawLine | null => {
    let bytes = Buffer.concat(pieces);
    const tooLong = length > most;
    if (line === 1 && bytes.subarray(0, 3).equals(byteOrderMark)) bytes = bytes.subarray(3);
    if (!tooLong && bytes.at(-1) === carriageReturn) bytes = bytes.subarray(0, -1);
    const taken = isBlank(bytes) ? null : { line, bytes, tooLong };
    line++;
    length = 0;
    pieces = [];
    return taken;
  };

  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      const taken = take();
      if (taken !== null) yield taken;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  }
  const last = length > 0 ? take() : null;
  if (last !== null) yield last;
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
