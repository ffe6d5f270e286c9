// A list in the order of last use, linked through its members. A Map that is deleted from and
// appended to all the time finds its first entry only past everything that was deleted.
export interface Linked<T> {
  older: T | null;
  newer: T | null;
  listed: boolean;
}

export interface RecencyList<T> {
  /** To the newest end, from wherever it is. */
  touch(member: T): void;
  remove(member: T): void;
  oldest(): T | null;
  size(): number;
}

export function createRecencyList<T extends Linked<T>>(): RecencyList<T> {
  let oldest: T | null = null;
  let newest: T | null = null;
  let size = 0;
  function remove(member: T): void {
    if (!member.listed) return;
    const { older, newer } = member;
    if (older === null) oldest = newer;
    else older.newer = newer;
    if (newer === null) newest = older;
    else newer.older = older;
    member.older = member.newer = null;
    member.listed = false;
    size--;
  }
  return {
    touch(member) {
      remove(member);
      member.older = newest;
      if (newest === null) oldest = member;
      else newest.newer = member;
      newest = member;
      member.listed = true;
      size++;
    },
    remove,
    oldest: () => oldest,
    size: () => size,
  };
}
