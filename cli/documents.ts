// precedent documents put|ls|show|expire|rm: texts that requests name by id. The prompt of each
// such request contains them; llama arms compute their caches once.
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
import { chunkId } from "../operators/documents.ts";
import { CommandError, type Io } from "./io.ts";
import { parseDuration } from "./options.ts";
import { tableOf } from "./reading.ts";
import { printWithSession } from "./with-session.ts";
import { sendOnce } from "../runtime/send-once.ts";

interface PutOptions {
  tenant: string;
  id?: string;
  title?: string;
  /** Milliseconds from now. */
  expires?: number;
}

interface ExpireOptions {
  tenant: string;
  after: number;
  off?: boolean;
}

// Kafka's limit of a record (connections/kafka/topics.ts), less the record's other fields.
const longestText = 15 * 1_048_576;

export function addDocuments(program: Command, io: Io): void {
  const documents = program.command("documents").description("texts that requests name by id");
  documents
    .command("put")
    .description("put a text, or its next version; prints its id and its chunks' ids")
    .argument("<file>", "text, UTF-8")
    .option("--id <id>", "the file's name without its ending by default")
    .option("-t, --tenant <name>", "owner: only its requests may name it", "default")
    .option("--title <text>", "stands before the text in prompts")
    .option("--expires <time>", "no request may name it after it, such as 30d; stays otherwise", parseDuration)
    .action(async (name: string, options: PutOptions, command: Command) => {
      // The file is checked before any connection is opened.
      const document = await documentOf(resolve(io.cwd, name), options, Date.now());
      await printWithSession(command, io, async (session) => {
        await putDocuments(session, [document]);
        return describeChunks(document, session.config.documents);
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
    .command("show")
    .description("its chunks: their ids, which requests may name in place of the whole, and how they begin")
    .argument("<id>", "which")
    .option("-t, --tenant <name>", "owner", "default")
    .action(async (id: string, { tenant }: { tenant: string }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const [document] = await ownDocuments(session, tenant, [id]);
        return describeChunks(document!, session.config.documents);
      });
    });

  documents
    .command("expire")
    .description("let documents expire: requests that name them are refused from then on; rm removes the text")
    .argument("<id...>", "which")
    .option("-t, --tenant <name>", "owner", "default")
    .option("--after <time>", "when: such as 12h; at once by default", parseDuration, 0)
    .option("--off", "let them stay")
    .action(async (ids: string[], options: ExpireOptions, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const found = await ownDocuments(session, options.tenant, ids);
        const expiresAt = options.off === true ? null : Date.now() + options.after;
        await putDocuments(
          session,
          found.map((document) => ({ ...document, expiresAt })),
        );
        return expiresAt === null ? `${found.length} stay\n` : `${found.length} expire ${timeOf(expiresAt)}\n`;
      });
    });

  documents
    .command("rm")
    .description("remove documents; requests that name them are refused from then on")
    .argument("<id...>", "which")
    .option("-t, --tenant <name>", "owner", "default")
    .action(async (ids: string[], { tenant }: { tenant: string }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        await ownDocuments(session, tenant, ids);
        await removeDocuments(session, tenant, ids);
        return `removed ${ids.length}\n`;
      });
    });
}

export async function documentOf(
  file: string,
  { tenant, id: given, title, expires }: PutOptions,
  now: number,
): Promise<Document> {
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
  const id = given ?? basename(file, extname(file));
  if (id === "" || /#\d+$/.test(id))
    throw new CommandError(`--id ${JSON.stringify(id)}: an id is not empty and does not end as a chunk's does (#1)`);
  const expiresAt = expires === undefined ? null : now + expires;
  return { tenant, id, text, title: title ?? null, expiresAt, createdAt: now };
}

/** In the broker when it resolves; plan has them a moment later, arms within a minute. */
export async function putDocuments(session: Session, documents: readonly Document[]): Promise<void> {
  await sendAll(
    session,
    new Map(documents.map((one) => [documentKey(one.tenant, one.id), session.codec.encode("documents", one)])),
  );
}

/** Arms remove the caches of their chunks within a minute. */
export const removeDocuments = (session: Session, tenant: string, ids: readonly string[]): Promise<void> =>
  sendAll(session, new Map(ids.map((id) => [documentKey(tenant, id), null])));

async function sendAll(session: Session, values: ReadonlyMap<string, Buffer | null>): Promise<void> {
  const topic = session.topic("documents");
  await sendOnce(
    session.kafka,
    [...values].map(([key, value]) => ({ topic, key, value })),
  );
}

async function readDocuments({ kafka, codec, log, topic }: Session): Promise<Document[]> {
  const found = await readTable({ kafka, codec, log, topic: topic("documents"), record: "documents" });
  return [...found.values()];
}

/** In the order of ids; throws if the tenant lacks one of them. */
async function ownDocuments(session: Session, tenant: string, ids: readonly string[]): Promise<Document[]> {
  const known = new Map(
    (await readDocuments(session)).filter((one) => one.tenant === tenant).map((one) => [one.id, one]),
  );
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0)
    throw new CommandError(`${tenant} has no document ${unknown.join(", ")}: precedent documents ls`);
  return ids.map((id) => known.get(id)!);
}

const timeOf = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** Chunks as plan cuts them. If cutting exceeds limits.textMs, plan has other chunks. */
export function describeChunks(
  { id, text, expiresAt }: Pick<Document, "id" | "text" | "expiresAt">,
  { split, chunkTokens }: Pick<Session["config"]["documents"], "split" | "chunkTokens">,
): string {
  const pieces = splitText(text, split, chunkTokens);
  const until = expiresAt === null ? "" : `, expires ${timeOf(expiresAt)}`;
  const head = `${id}: ${pieces.length} ${pieces.length === 1 ? "chunk" : "chunks"}, about ${estimateTokens(text)} tokens${until}\n`;
  const rows = pieces.map((piece, index) => [
    ...[chunkId(id, index + 1), estimateTokens(piece), piece.replace(/\s+/g, " ").slice(0, 60)],
  ]);
  return head + tableOf(["chunk", "tokens", "begins"], rows);
}

export function describeDocuments(documents: readonly Document[]): string {
  if (documents.length === 0) return "no documents: precedent documents put FILE\n";
  const order = (one: Document): string => documentKey(one.tenant, one.id);
  return tableOf(
    ["tenant", "id", "title", "put", "expires", "bytes"],
    documents
      .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
      .map(({ tenant, id, title, createdAt, expiresAt, text }) => [
        ...[tenant, id, title ?? "", timeOf(createdAt), expiresAt === null ? "" : timeOf(expiresAt)],
        Buffer.byteLength(text),
      ]),
  );
}
