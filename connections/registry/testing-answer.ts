// A record for tests of codecs, and the frame that Confluent's wire format puts around one.
import type { Answer } from "../../schemas/types.ts";

export const answer: Answer = {
  tenant: "t",
  domain: "t/d",
  hash: "h",
  requestId: "r",
  text: "ls",
  arm: "cheap",
  model: "m",
  cost: 0.5,
  bytes: 2,
  expiresAt: 2,
  createdAt: 1,
};

/** Magic byte 0, the schema's id, the record. */
export function wire(id: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(id, 1);
  return Buffer.concat([header, payload]);
}
