// Lines of a file, each of bounded length: a file without line feeds must not fill the memory.
import { createReadStream } from "node:fs";
import { CommandError } from "./io.ts";

/** Kafka's limit of a record (connections/kafka/topics.ts), and what JSON adds to a text. */
const longestLine = 32 * 1_048_576;

/** Without line ends (LF, CRLF). Throws CommandError, and what the file system does. */
export async function* linesOf(file: string, most = longestLine): AsyncGenerator<string> {
  let [number, left] = [1, ""];
  for await (const part of createReadStream(file, { encoding: "utf8" })) {
    const lines = (left + (part as string)).split("\n");
    left = lines.pop() ?? "";
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
    number += lines.length;
    if (left.length > most)
      throw new CommandError(`${file}, line ${number}: it has more than ${most / 1_048_576} MiB; is it a text file?`);
  }
  if (left !== "") yield left.endsWith("\r") ? left.slice(0, -1) : left;
}
