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
  let [number, left] = [1, ""];
  for await (const part of parts) {
    const lines = (left + part).split("\n");
    left = lines.pop() ?? "";
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
    number += lines.length;
    if (left.length > most)
      throw new CommandError(`${file}, line ${number}: it has more than ${most / 1_048_576} MiB; is it a text file?`);
  }
  if (left !== "") yield left.endsWith("\r") ? left.slice(0, -1) : left;
}
