// The examples that a process searches, wherever they are held.
import type { Embedder } from "../connections/embedder/port.ts";
import type { ExampleSearch } from "../state/examples/port.ts";
import type { Session } from "./session.ts";

export interface HeldExamples {
  embedder: Embedder;
  pool: ExampleSearch;
  /** Resolves when all examples can be searched; in Milvus also when that takes too long. */
  restored(): Promise<void>;
  stop(): Promise<void>;
}

export interface HoldOptions {
  /** Stable id of this process, and which of its stages holds them. */
  instance: string;
  stage: string;
  log: Session["log"];
}
