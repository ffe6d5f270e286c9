// The HTTP front end: where it listens, and how much it holds at a time.
import { z } from "zod";
import { factor, milliseconds, name } from "./common.ts";

const modelAlias = z.strictObject({
  /** Name that clients send; "*" is any text: gpt-4o*, claude-*. */
  name: z.string().min(1).max(256),
  /** The router chooses among these arms; absent: all arms. */
  arms: z.array(name).min(1).max(64).optional(),
  /** Replaces routing.costWeight unless the request has its own. */
  costWeight: factor.optional(),
  /** Only for these; absent: for all. Ids of keys begin with prk-. */
  tenants: z.array(name).min(1).optional(),
  keys: z.array(z.string().startsWith("prk-")).min(1).optional(),
});

export const gateway = z.strictObject({
  /** Loopback by default: elsewhere it only serves API keys (docs/gateway.md). */
  host: z.string().default("127.0.0.1"),
  /** If another program has it, nothing starts. 0: a free port, another one at each start. */
  port: z.number().int().min(0).max(65_535).default(7_717),
  /** Requests that wait for answers at most; a tenant has at most as many as it leaves free. */
  maxOpen: z.number().int().min(1).max(65_536).default(4_096),
  /** Maximum bytes of an HTTP request's body. */
  maxBodyBytes: z
    .number()
    .int()
    .min(1_024)
    .max(15 * 1_048_576)
    .default(4 * 1_048_576),
  /** Time that the brokers have to take a request; then it is refused with 503. */
  acceptMs: milliseconds.default(5_000),
  /** Between two comments in a stream, so that no proxy takes it for idle. */
  heartbeatMs: milliseconds.default(15_000),
  /** A client that reads nothing of its answer, streamed or not, for this time is disconnected. */
  slowReaderMs: milliseconds.default(60_000),
  /**
   * Maximum unsent bytes of all connections together; beyond it the connections with the most are
   * closed.
   */
  maxUnsentBytes: z
    .number()
    .int()
    .min(16 * 1_048_576)
    .max(2 ** 42)
    .default(256 * 1_048_576),
  /**
   * Signs the tokens by which people without an API key give feedback on their answer. The same for
   * all gateways; write ${VARIABLE}. Absent: answers have no token.
   */
  feedbackSecret: z.string().min(32, "at least 32 characters").optional(),
  /**
   * Maps model names that applications already send to arms (docs/gateway.md). The first entry that
   * matches name and caller applies.
   */
  models: z.array(modelAlias).max(1_000).default([]),
});

export type ModelAlias = z.infer<typeof modelAlias>;
