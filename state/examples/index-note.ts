// What the file of a vector index says of itself, so that it is never taken for the index of
// another state of the pool.

export interface Note {
  /** Random name of the store that it belongs to. */
  store: string;
  domain: string;
  model: string;
  sequence: number;
}

export const writeNote = (note: Note): string => JSON.stringify(note);

/** null: nothing that save() wrote. */
export function readNote(note: string): Note | null {
  try {
    // The file's checksum says that it is what save() wrote, or the index's own tests.
    return JSON.parse(note) as Note | null;
  } catch {
    return null;
  }
}
