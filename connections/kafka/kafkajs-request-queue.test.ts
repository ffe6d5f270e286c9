// kafkajs' own request queue: who sets a timer, and that what waits is sent.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { internals, type RequestQueueLike } from "./kafkajs-internals.ts";
import "./kafkajs.ts";

interface Queue extends RequestQueueLike {
  push(request: object): void;
  fulfillRequest(answer: { correlationId: number; payload: null; size: number }): void;
  maybeThrottle(milliseconds: number): void;
}
const RequestQueue = internals.RequestQueue as unknown as new (options: object) => Queue;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function queueOf(maxInFlightRequests: number) {
  const sent: number[] = [];
  const queue = new RequestQueue({
    ...{ maxInFlightRequests, requestTimeout: 30_000, enforceRequestTimeout: false },
    ...{ clientId: "c", broker: "b", logger: silent, instrumentationEmitter: null, isConnected: () => true },
  });
  const push = (correlationId: number): void =>
    queue.push({
      entry: { correlationId, resolve() {}, reject() {} },
      expectResponse: true,
      sendRequest: () => void sent.push(correlationId),
    });
  return {
    queue,
    sent,
    push,
    answer: (id: number) => queue.fulfillRequest({ correlationId: id, payload: null, size: 0 }),
  };
}

test("an answered connection with nothing to send sets no timer", () => {
  const { sent, push, answer } = queueOf(10);
  push(1);
  answer(1);
  expect(sent).toEqual([1]);
  expect(vi.getTimerCount()).toBe(0);
});

test("what waits for room goes with the next answer", () => {
  const { sent, push, answer } = queueOf(1);
  push(1);
  push(2);
  expect(sent).toEqual([1]);
  answer(1);
  expect(sent).toEqual([1, 2]);
});

test("what waits because the broker asked for it goes when that time is over, and no timer stays", () => {
  const { queue, sent, push } = queueOf(10);
  queue.maybeThrottle(250);
  push(1);
  vi.advanceTimersByTime(240);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(30);
  expect(sent).toEqual([1]);
  expect(vi.getTimerCount()).toBe(0);
});
