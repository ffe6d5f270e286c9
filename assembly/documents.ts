// The documents as a process of plan holds them: the topic as a table, each text split once, when it comes.
import { join } from "node:path";
import { splitText } from "../algorithms/split.ts";
import { openDocuments } from "../connections/documents/lmdb.ts";
import type { Documents, HeldDocument } from "../connections/documents/port.ts";
import { followTable } from "../runtime/table.ts";
import type { Document } from "../schemas/types.ts";
import type { Session } from "./session.ts";

export interface HeldDocuments {
  table: Documents;
  /** Resolves when everything that was on the topic is in the table. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

/** `instance` names the folder: every process has a table of its own. */
export async function holdDocuments(session: Session, instance: string, log: Session["log"]): Promise<HeldDocuments> {
  const { config, kafka, codec } = session;
  const { split, chunkTokens } = config.documents;
  const table = await openDocuments(join(config.stack.folder, "documents", instance));
  const held = ({ tenant, id, title, text }: Document): HeldDocument => ({
    ...{ tenant, id, title },
    pieces: splitText(text, split, chunkTokens),
  });
  const reader = followTable({
    kafka,
    codec,
    log,
    topic: session.topic("documents"),
    record: "documents",
    apply: (changes) =>
      table.apply(changes.map(({ key, value }) => ({ key, value: value === null ? null : held(value) }))),
  });
  return {
    table,
    caughtUp: reader.caughtUp,
    async stop() {
      await reader.stop();
      await table.close();
    },
  };
}
