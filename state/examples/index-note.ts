// What the file of a vector index says of itself, so that it is never taken for the index of
// another state of the pool.
import { jsonOf } from "../../algorithms/text/json-shape.ts";

export interface Note {
  /** Random name of the store that it belongs to. */
  store: string;
  domain: string;
  model: string;
  sequence: number;
}

export const writeNote = (note: Note): string => JSON.stringify(note);

/** null: nothing that save() wrote. */
export const readNote = (note: string): Note | null =>
  // The file's checksum says that it is what save() wrote, or the index's own tests.
  (jsonOf(note) as Note | null | undefined) ?? null;
