// Lines of a file, each of bounded length: a file without line feeds must not fill the memory.
import { createReadStream } from "node:fs";
import { CommandError } from "./io.ts";

/** Kafka's limit of a record (connections/kafka/topics.ts), and what JSON adds to a text. */
export const longestLine = 32 * 1_048_576;

/**
 * Without line ends (LF, CRLF); `parts`: the content, where it is not the file as it lies. Throws
 * CommandError, and what the file system does.
 */
export async function* linesOf(
  file: string,
  most = longestLine,
  parts: AsyncIterable<string> = createReadStream(file, { encoding: "utf8" }) as AsyncIterable<string>,
): AsyncGenerator<string> {
  const ended = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
  let number = 1;
  // Joined once, however many parts a line has.
  let [pieces, length] = [[] as string[], 0];
  for await (const part of parts) {
    let from = 0;
    for (let end = part.indexOf("\n"); end >= 0; end = part.indexOf("\n", from)) {
      yield ended(pieces.join("") + part.slice(from, end));
      [pieces, length] = [[], 0];
      number++;
      from = end + 1;
    }
    pieces.push(part.slice(from));
    length += part.length - from;
    if (length > most)
      throw new CommandError(`${file}, line ${number}: it has more than ${most / 1_048_576} MiB; is it a text file?`);
  }
  if (length > 0) yield ended(pieces.join(""));
}
