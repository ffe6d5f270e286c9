// A plan process's documents: the topic as a table, each text split once. One that can't be split
// in time is cut at lengths, and its requests told.
import type { Logger } from "pino";
import { cutText } from "../algorithms/text/split.ts";
import type { DocumentTable, HeldDocument } from "../connections/documents/port.ts";
import { TextError } from "../connections/text/port.ts";
import { followTable } from "../runtime/table.ts";
import type { Document } from "../schemas/types.ts";
import type { SessionOf } from "./session.ts";

export type HeldDocuments = ReturnType<typeof holdDocuments>;

/** `table` is closed with it. */
export function holdDocuments(session: SessionOf<{ tables: ["documents"] }>, table: DocumentTable, log: Logger) {
  const { config, kafka, codec, text: texts } = session;
  const { split, chunkTokens } = config.documents;
  const held = async ({ tenant, id, title, text, expiresAt }: Document): Promise<HeldDocument> => {
    try {
      return { tenant, id, title, expiresAt, pieces: await texts.split(text, split, chunkTokens) };
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      const { code } = error;
      log.warn({ err: error, code, tenant, document: id }, "a document could not be split: it is cut at lengths");
      return { tenant, id, title, expiresAt, pieces: cutText(text, chunkTokens), isRough: true };
    }
  };
  const reader = followTable({
    kafka,
    codec,
    log,
    topic: session.topic("documents"),
    record: "documents",
    async apply(changes) {
      const split: { key: string; value: HeldDocument | null }[] = [];
      // One after the other: the worker has no more slots than it needs.
      for (const { key, value } of changes) split.push({ key, value: value === null ? null : await held(value) });
      await table.apply(split);
    },
  });
  return {
    table,
    caughtUp: reader.caughtUp,
    async stop(): Promise<void> {
      await reader.stop();
      await table.close();
    },
  };
}
