// Inputs for the tests of embed and select.
import fc from "fast-check";
import type { Candidate } from "../../state/examples/port.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Example } from "../../schemas/types.ts";
import type { Embedded, LookedUp } from "../flow.ts";
import type { SelectArm } from "./selection-types.ts";

export function lookedUp(over: Partial<LookedUp> = {}): LookedUp {
  const given = { id: "request-1", tenant: "acme", domain: "shell", createdAt: 0 };
  const request = plainRequest("list all files", given);
  return {
    record: request,
    position: { topic: "requests", partition: 0, offset: 0 },
    timestamp: 0,
    receivedAt: 0,
    request,
    domain: "acme/shell",
    deadline: 120_000,
    question: "list all files",
    degraded: [],
    experiment: null,
    ...over,
  };
}

export const embedded = (over: Partial<Embedded> = {}): Embedded => ({
  ...lookedUp(),
  embedding: Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0),
  ...over,
});

const example = (id: string, over: Partial<Example> = {}): Example =>
  plainExample({ id, domain: "acme/shell", request: `request ${id}`, response: `response ${id}`, ...over });

export const arm = (name: string, over: Partial<SelectArm> = {}): SelectArm => ({
  name,
  model: `${name}-model`,
  cost: 0,
  examples: true,
  maxTokens: 64,
  template: "chat-turns",
  ...over,
});

/** A candidate whose vector is like no other's: it points along the axis `axis` of eight. */
export const candidate = (id: string, similarity: number, over: Partial<Example> = {}, axis = 0): Candidate => ({
  example: example(id, over),
  similarity,
  vector: Float32Array.from({ length: 8 }, (_, k) => (k === axis ? 1 : 0)),
});

/** What chance says of a trial, or that there is none. */
export const anyDraw = fc.option(
  fc.record({
    pick: fc.double({ min: 0, max: 0.999, noNaN: true }),
    shown: fc.boolean(),
    probability: fc.constant(0.5),
  }),
);
