// Hints for an engine's prefix cache: which requests share a prefix, and which must not.
import { hash } from "node:crypto";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { ArmRequest } from "../arm.ts";
import { prefixKey } from "./replicas/prefix-key.ts";

type Asking = Pick<OpenAiArmConfig, "name" | "parameters" | "promptCacheKey" | "cacheSalt">;

/**
 * Members of a call. A client's own key is sent unchanged. Its salt is combined with its sharing
 * domain, so that it can't probe another domain's cache by timing.
 */
export function engineHints(arm: Asking, request: ArmRequest): { prompt_cache_key?: string; cache_salt?: string } {
  const { promptCacheKey, cacheSalt, caching, tenant = "" } = request;
  const key = promptCacheKey ?? (arm.promptCacheKey ? digest(prefixKey(arm.name, request)) : undefined);
  const salt = arm.cacheSalt || cacheSalt !== undefined ? [caching?.domain || tenant, cacheSalt ?? null] : undefined;
  return {
    ...(key !== undefined && (arm.promptCacheKey || arm.parameters) && { prompt_cache_key: key }),
    ...(salt !== undefined && (arm.cacheSalt || arm.parameters) && { cache_salt: digest(JSON.stringify(salt)) }),
  };
}

const digest = (text: string): string => hash("sha256", text).slice(0, 32);
