// Values for the unit tests of operators: a plain request, as received and after each step.
import pino from "pino";
import type { Received, StepContext } from "../runtime/step.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Decision, Request } from "../schemas/types.ts";
import { decide, type Decided } from "./call/decision.ts";
import type { Choice, Assigned, Paired, Routed, Selected, SelectedExample } from "./flow.ts";

export const NOW = 1_700_000_000_000;

export function aRequest(change: Partial<Request> = {}): Request {
  return plainRequest("list all files", { id: "r1", tenant: "acme", createdAt: NOW, ...change });
}

/**
 * For aRequest() in the domain acme/default, by a router that has learnt nothing; no arm is scored.
 */
export function aDecision(change: Partial<Decision> = {}): Decision {
  return {
    requestId: "r1",
    partition: 2,
    offset: 7,
    tenant: "acme",
    domain: "acme/default",
    featureVersion: 1,
    arms: [],
    arm: "small",
    probability: 1,
    alternativeArm: null,
    alternativeProbability: null,
    threshold: 0,
    exploredThreshold: null,
    load: 0,
    policyVersion: 0,
    helpfulnessVersion: 0,
    helpfulnessFeatures: 1,
    template: "",
    asked: false,
    askProbability: 0,
    alternative: false,
    breakers: {},
    reuse: null,
    experiment: null,
    source: "routed",
    cacheKey: null,
    degraded: [],
    timings: [],
    createdAt: NOW,
    ...change,
  };
}

/** Its part that route finds. */
export function aChoice(change: Partial<Choice> = {}): Choice {
  return {
    ...{
      arms: [],
      arm: "small",
      probability: 1,
      alternativeArm: null,
      alternativeProbability: null,
      load: 0,
      policyVersion: 0,
    },
    ...{ asked: false, askProbability: 0, breakers: {}, reuse: null, createdAt: NOW },
    ...change,
  };
}

export function received(record: Request, offset = 7, partition = 2): Received<Request> {
  const position = { topic: "precedent.requests", partition, offset };
  return { record, position, timestamp: NOW - 1, receivedAt: NOW + 2 };
}

export function validated(change: Partial<Request> = {}, offset = 7, partition = 2): Assigned {
  const from = received(aRequest(change), offset, partition);
  return {
    ...from,
    timestamp: NOW,
    request: { ...from.record, id: from.record.id ?? "derived", createdAt: from.record.createdAt ?? NOW },
    domain: "acme/default",
    deadline: NOW + 120_000,
    question: "list all files",
    degraded: [],
    experiment: null,
  };
}

export function anExample(id: string, similarity = 0.8): SelectedExample {
  const helpfulness = similarity;
  return {
    id,
    request: `question ${id}`,
    response: `answer ${id}`,
    similarity,
    helpfulness,
    tokens: 10,
    explored: false,
    cachedBonus: 0,
    features: [],
  };
}

export function selected(change: Partial<Selected> = {}, request: Partial<Request> = {}): Selected {
  return {
    ...validated(request),
    embedding: Float32Array.of(1, 0, 0, 0),
    examplesByArm: new Map(),
    orderByArm: new Map(),
    trialByArm: new Map(),
    threshold: 0.5,
    exploredThreshold: null,
    helpfulnessVersion: 0,
    nearMiss: null,
    ...change,
  };
}

/** What plan decides on after route and, where they are given, compose and pair. */
export const decidedOf = (found: Routed & Partial<Paired>, { timings } = aContext()): Decided =>
  decide(
    { prompt: { pieces: [], template: "", cacheKey: null, plannedAt: NOW }, alternative: null, ...found },
    timings,
  );

export function aContext(): StepContext {
  return {
    signal: new AbortController().signal,
    log: pino({ level: "silent" }),
    deadline: NOW + 120_000,
    timings: [{ operator: "validate", ms: 0.1 }],
  };
}
