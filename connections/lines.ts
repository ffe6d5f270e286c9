// Lines of a file in UTF-8, split at LF alone: readline also splits at U+2028, which JSON may hold.
// Each is of bounded length: a file without line feeds must not fill the memory. And its bytes in
// pieces, for a search.
import { createReadStream } from "node:fs";
import { isMissing } from "./errors.ts";

/** Kafka's limit of a record (connections/kafka/topics.ts), and what JSON adds to a text. */
export const longestLine = 32 * 1_048_576;
const byteOrderMark = "\uFEFF";

/** No character: it marks bytes that are no UTF-8, where U+FFFD may be a text's own. */
export const broken = "\uFFFE";
export const notUtf8 = "its bytes are no UTF-8: convert the file (iconv -f LATIN1 -t UTF-8, or what it is in)";

/** As UTF-8, without a byte order mark; what is none becomes `instead`. */
export async function* decoded(parts: AsyncIterable<Uint8Array>, instead = "\uFFFD"): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const part of parts) {
    const text = decoder.decode(part, { stream: true });
    const isOwn = !text.includes("\uFFFD") || countOf(text, "\uFFFD") === countOf(latin1(part), "\u00EF\u00BF\u00BD");
    yield isOwn ? text : text.replaceAll("\uFFFD", instead);
  }
  yield decoder.decode().replaceAll("\uFFFD", instead);
}
const latin1 = (part: Uint8Array): string => Buffer.from(part).toString("latin1");
const countOf = (text: string, one: string): number => text.split(one).length;

/**
 * Without line ends (LF, CRLF) and byte order marks. Throws an Error with file and line where a
 * line is too long or the file is UTF-16, and what the file system does.
 * @param parts the text of a file that is packed
 */
export async function* linesOf(
  file: string,
  most = longestLine,
  parts: AsyncIterable<string> = createReadStream(file, { encoding: "utf8" }) as AsyncIterable<string>,
): AsyncGenerator<string> {
  let number = 1;
  let length = 0;
  let pieces: string[] = [];
  const line = (): string => {
    const text = pieces.join("");
    pieces = [];
    length = 0;
    const from = text.startsWith(byteOrderMark) ? 1 : 0;
    return text.slice(from, text.endsWith("\r") ? -1 : undefined);
  };
  for await (const part of parts) {
    if (number === 1 && length === 0 && /^[\uFFFD\uFFFE]{2}/.test(part))
      throw new Error(`${file}: it is no UTF-8; if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8`);
    let from = 0;
    for (let end = part.indexOf("\n"); end >= 0; end = part.indexOf("\n", from)) {
      pieces.push(part.slice(from, end));
      from = end + 1;
      number++;
      yield line();
    }
    pieces.push(part.slice(from));
    length += part.length - from;
    if (length > most)
      throw new Error(`${file}, line ${number}: it has more than ${most / 1_048_576} MiB; is it a text file?`);
  }
  if (length > 0) yield line();
}

/** A file's bytes, each piece with the end of the one before; a file that goes has no more. */
export async function* overlappingPieces(file: string, overlap: number): AsyncGenerator<Buffer> {
  let before = Buffer.alloc(0);
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 1_048_576 }) as AsyncIterable<Buffer>) {
      const bytes = Buffer.concat([before, piece]);
      yield bytes;
      before = bytes.subarray(-overlap);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
