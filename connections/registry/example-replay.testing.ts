// A record for tests of codecs, and the frame that Confluent's wire format puts around one.
import type { ExampleReplay } from "../../schemas/types.ts";

export const exampleReplay: ExampleReplay = {
  runId: "r",
  tenant: "t",
  exampleId: "e",
  attempt: 1,
  oldQuality: 0.25,
  newQuality: null,
  tokens: 2,
  cost: 0.5,
  outcome: "kept",
  newExampleId: null,
  gain: 0.2,
  arm: "large",
  samples: 3,
  relativeCost: 2.5,
  createdAt: 1,
};

/** Magic byte 0, the schema's id, the record. */
export function wire(id: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(id, 1);
  return Buffer.concat([header, payload]);
}
