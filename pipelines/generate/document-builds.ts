// Documents whose caches an idle arm makes before a request names them: those of the topic, each
// once a process and again when it changes. What does not fit into memory waits for its requests.
import type { Logger } from "pino";
import type { BuildPrompt, DocumentBuilds } from "../../arms/linked/build.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { templates } from "../../arms/templates.ts";
import type { LlamaArmConfig } from "../../config/schema.ts";
import type { HeldDocument } from "../../connections/documents/port.ts";
import { findDocuments, withDocuments } from "../../operators/documents.ts";
import { followTable } from "../../runtime/table.ts";
import type { Document, Piece } from "../../schemas/types.ts";
import type { SessionOf } from "../../state/session.ts";

/** Characters of the documents that wait, each with what its entry takes besides. */
const mostWaiting = 32 * 1_048_576;
const entryCharacters = 512;
const charactersOf = ({ text, title }: Document): number => text.length + (title?.length ?? 0) + entryCharacters;

export interface FollowedDocuments extends DocumentBuilds {
  /** Those of the keys that are not on the topic; null: not known yet. */
  without(keys: readonly string[]): string[] | null;
  stop(): Promise<void>;
}

type Following = Pick<SessionOf<{ tables: ["documents"] }>, "config" | "kafka" | "codec" | "text" | "topic">;

export function followDocumentBuilds(
  { config: { documents }, kafka, codec, text: texts, topic }: Following,
  {
    arm,
    log,
    clock = Date.now,
    builds = true,
  }: { arm: LlamaArmConfig; log: Logger; clock?: () => number; builds?: boolean },
): FollowedDocuments {
  const waiting = new Map<string, Document>();
  const there = new Set<string>();
  let caughtUp = false;
  let characters = 0;
  const remove = (key: string): void => {
    const removed = waiting.get(key);
    if (removed === undefined) return;
    characters -= charactersOf(removed);
    waiting.delete(key);
  };
  const isExpired = ({ expiresAt }: Document): boolean => expiresAt !== null && expiresAt <= clock();
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("documents"), record: "documents" },
    apply(changes) {
      for (const { key, value } of changes) {
        remove(key);
        if (value === null) there.delete(key);
        else there.add(key);
        if (!builds || value === null || characters + charactersOf(value) > mostWaiting) continue;
        waiting.set(key, value);
        characters += charactersOf(value);
      }
    },
  });

  // Never fails: a reader that is stopped has not caught up.
  void reader.caughtUp.then(
    () => (caughtUp = true),
    () => undefined,
  );

  async function promptOf({ tenant, id, title, text }: Document): Promise<Piece[]> {
    return documentPrompt(arm, {
      tenant,
      id,
      title,
      pieces: await texts.split(text, documents.split, documents.chunkTokens),
    });
  }
  return {
    async next() {
      for (const [key, document] of waiting) {
        // Taken out when it is built, unless it has changed meanwhile.
        const done = (): void => {
          if (waiting.get(key) === document) remove(key);
        };
        const pieces = isExpired(document) ? null : await promptOf(document).catch(() => null);
        if (pieces !== null) return { domain: sharingDomain(document.tenant, null), pieces, done };
        done();
      }
      return null;
    },
    without: (keys) => (caughtUp ? keys.filter((key) => !there.has(key)) : null),
    stop: () => reader.stop(),
  };
}

/** A prompt with all of a document, as a request that names it alone has it. */
export function documentPrompt(
  { template, system }: Pick<LlamaArmConfig, "template" | "system">,
  held: HeldDocument,
): BuildPrompt["pieces"] {
  const { pieces } = findDocuments({ get: () => held }, held.tenant, [held.id]);
  const turn = [{ role: "user" as const, content: held.id }];
  return withDocuments(templates[template].pieces({ messages: turn, system, examples: [] }), pieces);
}
