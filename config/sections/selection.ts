// What a prompt is made of: how texts become vectors, which examples, how documents are cut.
import { z } from "zod";
import { countOrNone, httpUrl } from "./common.ts";

const embedderShape = z.strictObject({
  /** openai: an endpoint (docs/embedding.md). */
  type: z.enum(["onnx", "openai"]).default("onnx"),
  /** onnx: a folder, absent: all-MiniLM-L6-v2; openai: the model's name. */
  model: z.string().min(1).optional(),
  /** openai: address up to /v1. */
  baseUrl: httpUrl.optional(),
  apiKey: z.string().default(""),
  /** openai: length of its vectors. */
  dimension: z.number().int().min(1).max(16_384).optional(),
  /** onnx: threads of each worker. */
  threads: z.number().int().min(1).max(16).default(1),
  /** Texts embedded in one call. */
  maxBatch: z.number().int().min(1).max(256).default(16),
  /** Vectors of texts that are kept in memory. */
  cacheEntries: countOrNone.default(50_000),
});
const ofEndpoints = ["model", "baseUrl", "dimension"] as const;
export const embedder = embedderShape.superRefine((section, context) => {
  const refuse = (key: string, message: string): void => context.addIssue({ code: "custom", path: [key], message });
  if (section.type === "openai") {
    for (const key of ofEndpoints) if (section[key] === undefined) refuse(key, "missing: type openai needs it");
  } else
    for (const key of ["baseUrl", "dimension"] as const)
      if (section[key] !== undefined) refuse(key, "belongs to type openai: write the type, or leave this out");
});

const milvus = z.strictObject({
  /** host:port, or an https URL. */
  address: z.string().regex(/^(?:https:\/\/)?[^\s/@]+$/, "host:port, or https://host:port"),
  /** user:password or an API key, e.g. ${MILVUS_TOKEN}. */
  token: z.string().default(""),
  database: z.string().min(1).default("default"),
  /** Made by curate; one for each installation. */
  collection: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, "letters, digits and underscores")
    .default("precedent_examples"),
});

export const selection = z.strictObject({
  /** Examples shown at most. */
  examples: z.number().int().min(0).max(64).default(5),
  /** Candidates found by similarity. */
  candidates: z.number().int().min(1).max(1024).default(32),
  /** Least similarity of a candidate. */
  minimumSimilarity: z.number().min(-1).max(1).default(0.3),
  /** Tokens that examples may add to a prompt. */
  tokenBudget: countOrNone.default(1500),
  /** Cosine of near duplicates, which are left out. */
  nearDuplicate: z.number().min(0).max(1).default(0.99),
  /** Bonus in helpfulness of an example whose KV cache the arm has. */
  cachedBonus: z.number().min(0).max(0.1).default(0.02),
  /** Helpfulness that an example may lose for a cached prefix; 0: off. */
  prefixBonus: z.number().min(0).max(0.2).default(0.02),
  /** Requests from which selection learns (docs/examples.md). */
  explore: z
    .strictObject({
      /** Share of requests with a trial of one example. */
      trials: z.number().min(0).max(0.5).default(0.02),
      /** Share with another threshold of helpfulness. */
      thresholds: z.number().min(0).max(0.5).default(0.02),
      /** Share with a random order of the examples. */
      orders: z.number().min(0).max(0.5).default(0.02),
    })
    .prefault({}),
  /** Where examples are searched (docs/operations.md). */
  index: z.enum(["memory", "milvus"]).default("memory"),
  milvus: milvus.optional(),
});

export const documents = z.strictObject({
  /** size: cut where a piece is full, not at sentences. */
  split: z.enum(["meaning", "size"]).default("meaning"),
  /** Estimated tokens of a piece. */
  chunkTokens: z.number().int().min(16).max(8192).default(512),
});
