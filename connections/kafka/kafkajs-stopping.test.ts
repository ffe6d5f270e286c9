// kafkajs' own Runner, stopped while its fetchers are recreated.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { internals, type RunnerLike } from "./kafkajs-internals.ts";
import "./kafkajs.ts";

const Runner = internals.Runner as unknown as new (options: object) => RunnerLike;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };

test("a consumer that is stopped while a broker comes ends, and lets the process go on", async () => {
  let nodes = ["1", "2"];
  let answer: (batches: unknown[]) => void = () => undefined;
  let asked = 0;
  const consumerGroup = {
    connect: async () => undefined,
    joinAndSync: async () => undefined,
    heartbeat: async () => undefined,
    leave: async () => undefined,
    getNodeIds: () => nodes,
    async fetch(node: string): Promise<unknown[]> {
      asked++;
      if (node === "2") return new Promise((resolve) => (answer = resolve));
      await sleep(1);
      return [];
    },
  };
  const runner = new Runner({
    ...{ logger: silent, consumerGroup, instrumentationEmitter: { emit() {} }, eachBatch: () => undefined },
    ...{ heartbeatInterval: 1_000, retry: { retries: 0, initialRetryTime: 1 }, onCrash: () => undefined },
  });
  await runner.start();
  await sleep(10);
  // Fetcher 1 sees the third broker and ends; the recreation waits for the second.
  nodes = ["1", "2", "3"];
  await sleep(10);
  const stopped = runner.stop();
  answer([]);
  await stopped;
  const until = asked;
  await sleep(10);
  expect(asked).toBe(until);
});
