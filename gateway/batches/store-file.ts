// Puts the lines of an upload on the topic batch-lines, a record each, all in one partition. Holds
// about a megabyte of them. Delivery: chunk by chunk, each acknowledged before the next. A retry
// may store a chunk twice; readers skip lines whose number they have seen.
import { createHash } from "node:crypto";
import type { Kafka, OutgoingMessage } from "../../connections/kafka/port.ts";
import type { Codec } from "../../connections/registry/port.ts";
import type { Topic } from "../../schemas/records.ts";
import type { BatchFile, LineProblem } from "../../schemas/types.ts";
import { ApiError, badRequest } from "../errors.ts";
import { checkLine } from "./check-line.ts";
import { mostFileBytes, mostLines, mostProblems } from "./limits.ts";
import { splitLines } from "./split-lines.ts";

type Message = OutgoingMessage<Topic<"batch-lines">>;

export interface StoreFileDependencies {
  kafka: Pick<Kafka, "ends" | "partitionOf">;
  /** Rejects with ApiError while the brokers are away. */
  send: (messages: readonly Message[]) => Promise<void>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"batch-lines">;
  /** Maximum bytes of a line, as of a request. */
  mostLineBytes: number;
  /** Called with the bytes of every part, before it is stored. Throws ApiError. */
  onBytes: (bytes: number) => void;
  /** Called with the bytes of lines that may be on the topic now. */
  onStored: (bytes: number) => void;
}

const chunkBytes = 1_048_576;

/** Rejects with ApiError; lines stored until then stay until the retention of the topic. */
export async function storeFile(
  chunks: AsyncIterable<Buffer>,
  { id, tenant, name, account }: { id: string; tenant: string; name: string; account: string | null },
  { kafka, send, codec, topic, mostLineBytes, onBytes, onStored }: StoreFileDependencies,
): Promise<BatchFile> {
  const partition = kafka.partitionOf(id, (await kafka.ends(topic)).length);
  const end = async (): Promise<number> =>
    (await kafka.ends(topic)).find((one) => one.partition === partition)?.high ?? 0;
  const from = await end();
  const problems: LineProblem[] = [];
  const ids = new Set<string>();
  let bytes = 0;
  let lines = 0;
  let waiting: Message[] = [];
  let waitingBytes = 0;

  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > mostFileBytes) throw tooLarge();
      onBytes(chunk.length);
      yield chunk;
    }
  }
  const isRepeated = (customId: string | null): boolean => {
    if (customId === null) return false;
    const short = createHash("sha256").update(customId).digest("base64").slice(0, 22);
    return ids.has(short) || (ids.add(short), false);
  };
  const flush = async (): Promise<void> => {
    const sent = waiting;
    onStored(waitingBytes);
    waiting = [];
    waitingBytes = 0;
    if (sent.length > 0) await send(sent);
  };

  for await (const raw of splitLines(counted(), mostLineBytes)) {
    if (++lines > mostLines)
      throw badRequest(
        `A file of requests has at most ${mostLines} lines: split it into several files.`,
        "file",
        "too_many_lines",
      );
    const { line, tooLong } = raw;
    const { text, customId, problem } = checkLine(raw);
    const found = problem ?? (isRepeated(customId) ? repeated(line) : null);
    if (found !== null && problems.length < mostProblems) problems.push(found);
    const value = codec.encode("batch-lines", { fileId: id, tenant, line, customId, text, tooLong });
    waiting.push({ topic, key: id, partition, value });
    waitingBytes += value.length;
    if (waitingBytes >= chunkBytes) await flush();
  }
  await flush();
  if (lines === 0) throw badRequest("The file has no lines.", "file", "empty_file");
  return { id, name, bytes, lines, partition, from, to: await end(), account, problems };
}

const repeated = (line: number): LineProblem => ({
  ...{ line, code: "duplicate_custom_id", param: "custom_id" },
  message: `Line ${line}: its custom_id repeats that of an earlier line.`,
});

export const tooLarge = (): ApiError =>
  new ApiError({
    ...{ status: 413, code: "body_too_large", param: "file" },
    message: `A file of requests has at most ${mostFileBytes / 1_048_576} MiB: split it into several files.`,
  });
