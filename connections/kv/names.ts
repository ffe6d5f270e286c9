// Ids of entries, read in both directions: an id is of one entry, an entry may have several.

export function createNames() {
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
    keyOf: (id: string): string | undefined => keys.get(id),
    /** Those of an entry. */
    of: (key: string): string[] => [...(ids.get(key) ?? [])],
    /** The id moves when it was of another entry. */
    set(id: string, key: string): void {
      remove(id);
      keys.set(id, key);
      ids.set(key, (ids.get(key) ?? new Set()).add(id));
    },
    remove,
    clear(): void {
      keys.clear();
      ids.clear();
    },
  };
}
