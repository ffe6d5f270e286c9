// precedent documents put|ls|rm: texts that requests name by id. Put once, they stand in the prompt
// of every request that names them, and llama arms compute their caches once.
import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { Command } from "commander";
import { messageOf } from "../connections/errors.ts";
import { splitText } from "../algorithms/text/split.ts";
import { estimateTokens } from "../algorithms/text/tokens.ts";
import type { Session } from "../pipelines/session.ts";
import { documentKey } from "../connections/documents/port.ts";
import { readTable } from "../runtime/table.ts";
import type { Document } from "../schemas/types.ts";
import { CommandError, type Io } from "./io.ts";
import { tableOf } from "./reading.ts";
import { printWithSession } from "./with-session.ts";

interface PutOptions {
  tenant: string;
  id?: string;
  title?: string;
}

// Kafka's limit of a record (connections/kafka/topics.ts), less the record's other fields.
const longestText = 15 * 1_048_576;

export function addDocuments(program: Command, io: Io): void {
  const documents = program.command("documents").description("texts that requests name by id");
  documents
    .command("put")
    .description("put a text, or its next version; prints its id")
    .argument("<file>", "text, UTF-8")
    .option("--id <id>", "the file's name without its ending by default")
    .option("-t, --tenant <name>", "owner: only its requests may name it", "default")
    .option("--title <text>", "stands before the text in prompts")
    .action(async (name: string, options: PutOptions, command: Command) => {
      // The file is checked before any connection is opened.
      const document = await documentOf(resolve(io.cwd, name), options, Date.now());
      await printWithSession(command, io, async (session) => {
        await putDocuments(session, [document]);
        const { split, chunkTokens } = session.config.documents;
        const pieces = splitText(document.text, split, chunkTokens).length;
        return `${document.id}: ${pieces} ${pieces === 1 ? "piece" : "pieces"}, about ${estimateTokens(document.text)} tokens\n`;
      });
    });

  documents
    .command("ls")
    .description("what there is")
    .option("-t, --tenant <name>", "of this owner alone")
    .action(async ({ tenant }: { tenant?: string }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const found = (await readDocuments(session)).filter((one) => tenant === undefined || one.tenant === tenant);
        return describeDocuments(found);
      });
    });

  documents
    .command("rm")
    .description("remove documents; requests that name them are then answered without")
    .argument("<id...>", "which")
    .option("-t, --tenant <name>", "owner", "default")
    .action(async (ids: string[], { tenant }: { tenant: string }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        // All of them are found before one is removed.
        const known = new Set(
          (await readDocuments(session)).filter((one) => one.tenant === tenant).map(({ id }) => id),
        );
        const unknown = ids.filter((id) => !known.has(id));
        if (unknown.length > 0)
          throw new CommandError(`${tenant} has no document ${unknown.join(", ")}: precedent documents ls`);
        await sendAll(session, new Map(ids.map((id) => [documentKey(tenant, id), null])));
        return `removed ${ids.length}\n`;
      });
    });
}

export async function documentOf(file: string, { tenant, id, title }: PutOptions, now: number): Promise<Document> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(`${file} can't be read: ${messageOf(error)}`);
  });
  if (bytes.length > longestText)
    throw new CommandError(
      `${file} has ${bytes.length} bytes; a document has at most ${longestText}: cut it into several`,
    );
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CommandError(`${file} is no UTF-8 text`);
  }
  if (text.trim() === "") throw new CommandError(`${file} is empty`);
  return { tenant, id: id ?? basename(file, extname(file)), text, title: title ?? null, createdAt: now };
}

/** In the broker when it resolves; plan has them a moment later. */
export async function putDocuments(session: Session, documents: readonly Document[]): Promise<void> {
  await sendAll(
    session,
    new Map(documents.map((one) => [documentKey(one.tenant, one.id), session.codec.encode("documents", one)])),
  );
}

async function sendAll(session: Session, values: ReadonlyMap<string, Buffer | null>): Promise<void> {
  const producer = session.kafka.plainProducer();
  const topic = session.topic("documents");
  await producer.send([...values].map(([key, value]) => ({ topic, key, value }))).finally(() => producer.close());
}

async function readDocuments({ kafka, codec, log, topic }: Session): Promise<Document[]> {
  const found = await readTable({ kafka, codec, log, topic: topic("documents"), record: "documents" });
  return [...found.values()];
}

export function describeDocuments(documents: readonly Document[]): string {
  if (documents.length === 0) return "no documents: precedent documents put FILE\n";
  const order = (one: Document): string => documentKey(one.tenant, one.id);
  return tableOf(
    ["tenant", "id", "title", "put", "bytes"],
    documents
      .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
      .map(({ tenant, id, title, createdAt, text }) => [
        ...[tenant, id, title ?? "", new Date(createdAt).toISOString().slice(0, 16).replace("T", " ")],
        Buffer.byteLength(text),
      ]),
  );
}
