// Documents whose caches an idle arm makes before a request names them: those of the topic, each
// once a process and again when it changes. What does not fit into memory waits for its requests.
// And which pieces of documents are of a text that is on the topic no more.
import type { Logger } from "pino";
import type { BuildPrompt, DocumentBuilds } from "../../arms/linked/build.ts";
import { documentOfPiece, pieceName, sharingDomain } from "../../algorithms/identity/identity.ts";
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

/** A document that was cut once, when it was read: its pieces are what is built and looked for. */
interface Waiting extends BuildPrompt {
  expiresAt: number | null;
  characters: number;
}

/** Names of pieces that are remembered, those of the documents that changed last. */
const mostPieces = 200_000;
/** Milliseconds after a change in which requests may still show pieces of former texts. */
const formerMs = 600_000;

export interface FollowedDocuments extends DocumentBuilds {
  /** Pieces (pieceName) whose document is gone or has another text; null: not known yet. */
  gone(pieces: readonly string[]): string[] | null;
  stop(): Promise<void>;
}

type Following = Pick<SessionOf<{ tables: ["documents"] }>, "config" | "kafka" | "codec" | "text" | "topic">;

export function followDocumentBuilds(
  { config: { documents }, kafka, codec, text: texts, topic }: Following,
  options: { arm: LlamaArmConfig; log: Logger; clock?: () => number; builds?: boolean; most?: number },
): FollowedDocuments {
  const { arm, log, clock = Date.now, builds = true, most = mostWaiting } = options;
  const waiting = new Map<string, Waiting>();
  // Kept: a new iterator steps over all entries that were deleted, each time.
  let oldest = waiting.entries();
  let current: [string, Waiting] | undefined;
  const there = new Set<string>();
  /** Pieces of documents that are new to this process or changed, oldest change first. */
  const changed = new Map<string, { pieces: ReadonlySet<string>; until: number }>();
  let changedPieces = 0;
  let caughtUp = false;
  let characters = 0;
  const remove = (key: string): void => {
    characters -= waiting.get(key)?.characters ?? 0;
    waiting.delete(key);
  };
  /** The entry that waits longest. */
  function first(): [string, Waiting] | undefined {
    if (current !== undefined && waiting.get(current[0]) === current[1]) return current;
    current = oldest.next().value;
    if (current !== undefined || waiting.size === 0) return current;
    oldest = waiting.entries();
    return (current = oldest.next().value);
  }
  function settle(key: string): void {
    changedPieces -= changed.get(key)?.pieces.size ?? 0;
    changed.delete(key);
  }
  function noteChanged(key: string, prompt: readonly Piece[]): void {
    const pieces = new Set(prompt.flatMap(({ kind, text }) => (kind === "document" ? pieceName(key, text) : [])));
    changed.set(key, { pieces, until: clock() + formerMs });
    changedPieces += pieces.size;
    for (const longest of changed.keys()) {
      if (changedPieces <= mostPieces) break;
      settle(longest);
    }
  }
  function isGone(piece: string): boolean {
    const key = documentOfPiece(piece);
    const pieces = changed.get(key)?.pieces;
    return !there.has(key) || (pieces !== undefined && !pieces.has(piece));
  }
  function wait(key: string, { tenant, expiresAt }: Document, pieces: Piece[]): void {
    const size = pieces.reduce((sum, { text }) => sum + text.length, entryCharacters);
    if (!builds || characters + size > most) return;
    waiting.set(key, { domain: sharingDomain(tenant, null), pieces, expiresAt, characters: size });
    characters += size;
  }
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("documents"), record: "documents" },
    async apply(changes) {
      for (const { key, value } of changes) {
        remove(key);
        settle(key);
        if (value === null) {
          there.delete(key);
          continue;
        }
        there.add(key);
        // One after the other: the worker has no more slots than it needs. What it can't split is
        // neither built nor looked for.
        const pieces = await promptOf(value).catch(() => null);
        if (pieces === null) continue;
        noteChanged(key, pieces);
        wait(key, value, pieces);
      }
    },
  });
  // Never fails: a reader that is stopped has not caught up.
  void reader.caughtUp.then(
    () => (caughtUp = true),
    () => undefined,
  );

  async function promptOf({ tenant, id, title, text }: Document): Promise<Piece[]> {
    const pieces = await texts.split(text, documents.split, documents.chunkTokens);
    return documentPrompt(arm, { tenant, id, title, pieces });
  }
  return {
    next() {
      for (let entry = first(); entry !== undefined; entry = first()) {
        const [key, one] = entry;
        // Taken out when it is built, unless it has changed meanwhile.
        const done = (): void => {
          if (waiting.get(key) === one) remove(key);
        };
        if (one.expiresAt === null || one.expiresAt > clock()) return Promise.resolve({ ...one, done });
        done();
      }
      return Promise.resolve(null);
    },
    gone(pieces) {
      for (const [key, { until }] of changed) {
        if (until > clock()) break;
        settle(key);
      }
      return caughtUp ? pieces.filter(isGone) : null;
    },
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
