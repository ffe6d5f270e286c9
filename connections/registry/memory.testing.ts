// A registry in memory, for unit tests only: ids from 1, no compatibility rules.
import type { Registry } from "./client.ts";
import { RegistryUnavailable } from "./port.ts";

export interface MemoryRegistry extends Registry {
  /** Subjects registered so far. */
  subjects(): string[];
  /** While true, every call rejects with RegistryUnavailable. */
  setDown(down: boolean): void;
  /** Look-ups of schemas by id so far. */
  lookups(): number;
}

export function createMemoryRegistry(): MemoryRegistry {
  const ids = new Map<string, number>();
  const schemas: object[] = [];
  const subjects: string[] = [];
  let down = false;
  let lookups = 0;
  const reach = (): void => {
    if (down) throw new RegistryUnavailable("registry can't be reached: it is switched off");
  };
  return {
    subjects: () => subjects,
    setDown(value) {
      down = value;
    },
    lookups: () => lookups,
    async register(subject, schema) {
      reach();
      subjects.push(subject);
      const text = JSON.stringify(schema);
      const id = ids.get(text) ?? schemas.push(schema);
      ids.set(text, id);
      return id;
    },
    async schema(id) {
      lookups++;
      reach();
      return schemas[id - 1] ?? null;
    },
  };
}
