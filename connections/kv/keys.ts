// Content addresses of chunk caches: model file, types of K and V, flash attention, prefix, tokens;
// and the sharing domain, or timing would tell what other tenants asked.
import { createHash } from "node:crypto";
import type { Convention, PrefixChunk } from "./port.ts";

export interface KvFormat {
  /** What computed it, such as a release of llama.cpp: another may round otherwise. */
  build: string;
  model: string;
  /** Types of K and V, such as "f16/f16". */
  kvType: string;
  flashAttention: boolean;
}

const digest = (parts: readonly string[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex");

/**
 * 64 hexadecimal digits; also names the folder that files of this format stand in. The number is
 * that of the blobs' layout (native/llama/core/blob.hpp).
 */
export const formatKey = ({ build, model, kvType, flashAttention }: KvFormat): string =>
  digest(["layout 1", build, model, kvType, String(flashAttention)]);

/** Domain of configured texts, shared by all tenants; no sharing domain has this name. */
export const everybody = "";

/** `domain`: of the text, or `everybody`. RangeError for tokens outside 0 to 2^32 - 1. */
export function chunkKey(format: string, domain: string, tokens: readonly number[]): string {
  const bytes = Buffer.alloc(4 * tokens.length);
  for (const [index, token] of tokens.entries()) bytes.writeUInt32LE(token, 4 * index);
  return createHash("sha256")
    .update(`chunk 2 ${format} ${JSON.stringify(domain)} `)
    .update(bytes)
    .digest("hex");
}

export function variantKey(
  format: string,
  { chunk, convention, prefix }: { chunk: string; convention: Convention; prefix: readonly PrefixChunk[] },
): string {
  return digest(["variant 1", format, convention, ...prefix.map((before) => before.chunk), chunk]);
}

export const isKey = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);
