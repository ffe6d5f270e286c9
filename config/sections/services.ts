// The servers: without an address each is the embedded stack's.
import { z } from "zod";
import { days, httpUrl, millisecondsUpTo } from "./common.ts";
import { oauth, tls } from "./security.ts";

const broker =
  /^(?:\[[\da-f:.]+\]|[\w.-]+):(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/i;

const secretFiles = {
  passwordFile: z.string().optional(),
  /** Asks a token endpoint for bearer tokens. */
  oauth: oauth.optional(),
  /** File with a bearer token. */
  tokenFile: z.string().optional(),
};

export const kafka = z.strictObject({
  /** Absent: the embedded stack's broker. */
  brokers: z.array(z.string().regex(broker, "host:port, without http://")).min(1).optional(),
  /** TLS; `tls` implies it. */
  ssl: z.boolean().default(false),
  tls: tls.optional(),
  sasl: z
    .strictObject({
      mechanism: z.enum(["plain", "scram-sha-256", "scram-sha-512", "oauthbearer"]),
      /** User name for plain and scram. */
      username: z.string().min(1).optional(),
      password: z.string().min(1).optional(),
      ...secretFiles,
    })
    .optional(),
  /** Prefix of topics, groups and transactions. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]*$/)
    .default("precedent."),
  /** Partitions of new topics; existing topics keep theirs. */
  partitions: z.number().int().min(1).max(1024).default(8),
  /** Copies of new topics; absent: one a broker, at most 3. */
  replicationFactor: z.number().int().min(1).max(32_767).optional(),
  /** Copies that must acknowledge a record; absent: 2 of 3 or more, else 1. */
  minInsyncReplicas: z.number().int().min(1).max(32_767).optional(),
  /** How long a dead process holds readers back; raise it for slow brokers. */
  transactionTimeoutMs: millisecondsUpTo(900_000, 1_000).default(5_000),
  /** After so long a silent process loses its partitions; raise it for slow brokers. */
  sessionTimeoutMs: millisecondsUpTo(1_800_000, 1_000).default(30_000),
});

export const registry = z.strictObject({
  /** Absent: the embedded stack's registry. */
  url: httpUrl.optional(),
  tls: tls.optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  ...secretFiles,
});

export const clickhouse = z.strictObject({
  /** Absent: the embedded stack's. */
  url: httpUrl.optional(),
  database: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .default("precedent"),
  tls: tls.optional(),
  username: z.string().default("default"),
  password: z.string().default(""),
  passwordFile: z.string().optional(),
  /** A cluster's name: tables become Replicated and Distributed. */
  cluster: z.string().optional(),
  /** Days that records are kept; 0: no limit. */
  ttlDays: days.int().default(90),
});
