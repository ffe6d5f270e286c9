// An example for tests: one answer of tenant acme, with nothing special about it.
import type { Example } from "./types.ts";

export const plainExample = (change: Partial<Example> = {}): Example => ({
  id: "e1",
  tenant: "acme",
  domain: "acme/default",
  request: "list all files",
  response: "ls -a",
  embedding: Buffer.alloc(8),
  embeddingModel: "test",
  source: { arm: "a", model: "m", requestId: null },
  quality: 1,
  bytes: 1,
  expiresAt: null,
  replays: 0,
  createdAt: 0,
  ...change,
});
