// What lies in files beside topics and tables, as an erasure needs it: removed where it can be told
// whose it is, or made again where not, and searched. analysis/forget/open.ts knows where they are.
import type { Subject } from "./subject.ts";

export interface FilesFound {
  /** Files of keys and values of prompts (token ids). */
  caches: number;
  /** Log replays that hold some of it, removed whole. */
  logReplays: string[];
  /** Pools of examples of no running process. */
  pools: number;
  leftBehind: number;
}

export interface FoundLocation {
  location: string;
  count: number;
}

export interface HeldLocation extends FoundLocation {
  /** Milliseconds since the epoch; null: unknown. */
  until: number | null;
  why: string;
}

export interface ForgetFiles {
  folders: string[];
  /** poolsFrom: when the topic of the examples holds nothing of it any more. */
  remove: (subject: Subject, poolsFrom: number, onProgress: (what: string) => void) => Promise<FilesFound>;
  search: (subject: Subject) => Promise<{ found: FoundLocation[]; held: HeldLocation[] }>;
}
