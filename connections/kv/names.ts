// Ids of entries, read in both directions: an id is of one entry, an entry may have several.

export interface Names {
  keyOf(id: string): string | undefined;
  /** Those of an entry. */
  of(key: string): string[];
  /** The id moves when it was of another entry. */
  set(id: string, key: string): void;
  remove(id: string): void;
  clear(): void;
}

export function createNames(): Names {
  const keys = new Map<string, string>();
  const ids = new Map<string, Set<string>>();

  function remove(id: string): void {
    const key = keys.get(id);
    if (key === undefined) return;
    keys.delete(id);
    const named = ids.get(key);
    named?.delete(id);
    if (named?.size === 0) ids.delete(key);
  }

  return {
    keyOf: (id) => keys.get(id),
    of: (key) => [...(ids.get(key) ?? [])],
    set(id, key) {
      remove(id);
      keys.set(id, key);
      ids.set(key, (ids.get(key) ?? new Set()).add(id));
    },
    remove,
    clear() {
      keys.clear();
      ids.clear();
    },
  };
}
