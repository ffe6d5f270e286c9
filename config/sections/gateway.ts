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
  /** Beyond the loopback only requests with an API key are served. */
  host: z.string().default("127.0.0.1"),
  /** 0: a free port, another one at each start. */
  port: z.number().int().min(0).max(65_535).default(7_717),
  /** Open requests at most. */
  maxOpen: z.number().int().min(1).max(65_536).default(4_096),
  /** Bytes of a request's body. */
  maxBodyBytes: z
    .number()
    .int()
    .min(1_024)
    .max(15 * 1_048_576)
    .default(4 * 1_048_576),
  /** Time for the brokers to take a request, else 503. */
  acceptMs: milliseconds.default(5_000),
  /** Between two comments in a stream; lower it for impatient proxies. */
  heartbeatMs: milliseconds.default(15_000),
  /** A client that reads nothing for so long is disconnected. */
  slowReaderMs: milliseconds.default(60_000),
  /** Unsent bytes of all connections. */
  maxUnsentBytes: z
    .number()
    .int()
    .min(16 * 1_048_576)
    .max(2 ** 42)
    .default(256 * 1_048_576),
  /** Signs tokens for feedback without a key: 32 characters, equal on all gateways. */
  feedbackSecret: z.string().min(32, "at least 32 characters").optional(),
  /** Maps model names that applications already send to arms (docs/gateway.md). */
  models: z.array(modelAlias).max(1_000).default([]),
});

export type ModelAlias = z.infer<typeof modelAlias>;
