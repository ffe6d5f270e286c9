// A whole system in the test's process, on the shared stack, in topics and a database of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { openSession, type Session } from "../../pipelines/session.ts";
import { stageNames, startStages, type RunningStages, type StartOptions } from "../../pipelines/up.ts";
import { configSchema, type Config } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { follow } from "./follow.ts";
import { databaseName, testStack, uniquePrefix } from "./stack.ts";

export type ConfigInput = Record<string, unknown> & { arms: unknown[] };

export interface TestSystem {
  config: Config;
  session: Session;
  stages: RunningStages;
  /** Every response seen so far, by request id, in the order seen. */
  responses: ReadonlyMap<string, Response[]>;
  produce(requests: readonly (Partial<Request> & { id: string })[]): Promise<void>;
  /** The first response to an id. */
  response(id: string, withinMs?: number): Promise<Response>;
  /** Produces one question and waits for its response. */
  ask(question: string, request?: Partial<Request>): Promise<Response>;
  /** Runs a query until it gives what is wanted. */
  eventually<T>(what: string, attempt: () => Promise<T | undefined>, withinMs?: number): Promise<T>;
  stop(): Promise<void>;
}

/** Configuration on the shared stack or the one given, with names of its own. */
export function testConfig(input: ConfigInput, folder: string, stack = testStack()): Config {
  return configSchema.parse({
    ...input,
    // A test says what it wants to be left to chance.
    selection: { explore: { trials: 0, thresholds: 0 }, ...(input.selection as object) },
    // Most ask the same again and again, to see arms answer.
    cache: { enabled: false, ...(input.cache as object) },
    kafka: {
      brokers: stack.brokers,
      prefix: uniquePrefix(),
      partitions: 4,
      sessionTimeoutMs: 6_000,
      ...(input.kafka as object),
    },
    registry: { url: stack.registryUrl },
    clickhouse: { ...stack.clickhouse, database: databaseName(), ...(input.clickhouse as object) },
    stack: { folder },
    gateway: { port: 0, ...(input.gateway as object) },
    log: { level: process.env.PRECEDENT_TEST_LOG ?? "silent" },
  });
}

/** A request of one user turn; whatever else is given wins. */
export const requestOf = (question: string, more: Partial<Request> = {}): Request & { id: string } =>
  plainRequest(question, { createdAt: Date.now(), ...more, id: more.id ?? uuidv7() });

/** Tests are clients of the topics; those of the gateway name it. */
const withoutGateway = stageNames.filter((stage) => stage !== "gateway");

export async function startSystem(
  input: ConfigInput,
  { stages: wanted = withoutGateway, ...options }: StartOptions = {},
): Promise<TestSystem> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-test-"));
  // Most tests wait for rows in ClickHouse.
  const config = testConfig({ record: { batchMs: 200 }, ...input }, folder);
  const session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "test" });
  const { kafka, codec, topic } = session;
  const responses = new Map<string, Response[]>();
  const waiting = new Map<string, (response: Response) => void>();
  const tail = await follow(session, "responses", (response) => {
    const { requestId } = response;
    responses.set(requestId, [...(responses.get(requestId) ?? []), response]);
    waiting.get(requestId)?.(response);
  });
  const stages = await startStages(session, { ...options, stages: wanted });
  const producer = kafka.plainProducer();

  const response = (id: string, withinMs = 60_000): Promise<Response> =>
    new Promise((resolve, reject) => {
      const known = responses.get(id)?.[0];
      if (known !== undefined) {
        resolve(known);
        return;
      }
      const timer = setTimeout(() => {
        reject(new Error(`no response to ${id} within ${withinMs} ms`));
      }, withinMs);
      waiting.set(id, (found) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(found);
      });
    });

  const produce: TestSystem["produce"] = (requests) =>
    producer.send(
      requests.map((request) => ({
        topic: topic("requests"),
        key: request.id,
        value: codec.encode("requests", request as Request),
      })),
    );

  return {
    config,
    session,
    stages,
    responses,
    produce,
    response,
    async ask(question, more) {
      const request = requestOf(question, more);
      const answered = response(request.id);
      await produce([request]);
      return answered;
    },
    eventually,
    async stop() {
      await stages.stop();
      await Promise.all([tail.stop(), producer.close()]);
      await session.clickhouse.command(`DROP DATABASE IF EXISTS ${config.clickhouse.database}`);
      await session.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Milliseconds between attempts: a tenth of what has been waited for. Queries that many tests
 * repeated every 100 ms took more of the servers than what they waited for.
 */
const pauseOf = (waitedMs: number): number => Math.min(500, Math.max(100, waitedMs / 10));

/** Tries until the attempt gives something; rejects with what was waited for. */
export async function eventually<T>(
  what: string,
  attempt: () => Promise<T | undefined>,
  withinMs = 60_000,
): Promise<T> {
  const since = Date.now();
  let last: unknown;
  while (Date.now() < since + withinMs) {
    try {
      const found = await attempt();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseOf(Date.now() - since)));
  }
  throw new Error(`${what}: not within ${withinMs} ms`, { cause: last });
}
