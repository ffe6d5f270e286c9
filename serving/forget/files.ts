// What lies in files beside topics and tables, as an erasure needs it: removed where it can be told
// whose it is, or made again where not, and searched. assembly/forget.ts knows where they are.
import type { Subject } from "./subject.ts";

export interface FilesFound {
  /** Files of keys and values of prompts (token ids). */
  caches: number;
  /** Replays of logs that hold some of it, removed whole. */
  replays: string[];
  /** Pools of examples of no running process: made anew from the topic when one starts. */
  pools: number;
}

export interface ForgetFiles {
  /** What is searched. */
  folders: string[];
  remove: (subject: Subject, onProgress: (what: string) => void) => Promise<FilesFound>;
  /** inUse: folders of running processes, which leave it when they start again. */
  search: (
    subject: Subject,
  ) => Promise<{ found: { place: string; count: number }[]; inUse: { place: string; count: number }[] }>;
}
