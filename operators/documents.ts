// The documents that a request names, as pieces of its prompt: behind the system texts, before the
// examples, so that all that is the same from one prompt to the next stands first. Pure.
import type { Documents, HeldDocument } from "../connections/documents/port.ts";
import type { Piece } from "../schemas/types.ts";

/** Id of a piece of a document, from 1: requests may name it in place of the whole. */
export const chunkId = (document: string, number: number): string => `${document}#${number}`;

/** Ids of documents or of their chunks, in the order that the request names them, each once. */
export function findDocuments(documents: Documents, tenant: string, ids: readonly string[]) {
  const pieces: Piece[] = [];
  const missing: string[] = [];
  const rough: string[] = [];
  // A document and a chunk of it name the same pieces, which are sent once.
  const taken = new Set<string>();
  for (const id of new Set(ids)) {
    const whole = documents.get(tenant, id);
    const [, name, number] = (whole === undefined && /^(.+)#([1-9]\d{0,5})$/s.exec(id)) || [];
    const found = whole ?? (name === undefined ? undefined : documents.get(tenant, name));
    const first = name === undefined ? 0 : Number(number) - 1;
    const named = found && piecesOf(found).slice(first, name === undefined ? undefined : first + 1);
    if (found === undefined || named === undefined || named.length === 0) {
      missing.push(id);
      continue;
    }
    if (found?.isRough === true) rough.push(id);
    for (const [index, piece] of named.entries()) {
      const key = chunkId(found.id, first + index);
      if (!taken.has(key)) pieces.push(piece);
      taken.add(key);
    }
  }
  return { pieces, missing, rough };
}

function piecesOf({ id, title, pieces }: HeldDocument): Piece[] {
  return pieces.map((text, index): Piece => {
    const heading = index === 0 && title !== null ? `${title}\n\n` : "";
    return { kind: "document", id, role: "system", text: heading + text };
  });
}

/** The prompt with the documents behind its leading system pieces. */
export function withDocuments(prompt: readonly Piece[], documents: readonly Piece[]): Piece[] {
  const first = prompt.findIndex(({ kind }) => kind !== "system");
  const at = first < 0 ? prompt.length : first;
  return [...prompt.slice(0, at), ...documents, ...prompt.slice(at)];
}
