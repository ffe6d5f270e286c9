// Hints for an engine's prefix cache: which requests share a prefix, and which must not.
import { hash } from "node:crypto";
import { objectOf, rawItems, rawMembers } from "../../algorithms/text/exact-json.ts";
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

/** Members of other formats that some hosts refuse: marks of caches, and earlier thoughts. */
const anthropics = ["cache_control", "thinking_blocks"];
const openAis = ["prompt_cache_breakpoint", "prompt_cache_options", "prompt_cache_retention"];
const strictHosts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/(^|\.)openai\.com$|\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/, anthropics],
  // They return reasoning_content, and take none.
  [/(^|\.)(groq\.com|cerebras\.ai|mistral\.ai)$/, [...anthropics, ...openAis, "reasoning_content"]],
];

/** Which of them the endpoint refuses: several are of one kind. */
export function foreignTo({ baseUrl, endpoints }: Pick<OpenAiArmConfig, "baseUrl" | "endpoints">): readonly string[] {
  const at = baseUrl ?? endpoints?.[0]?.baseUrl;
  if (at === undefined) return [];
  const { hostname, searchParams } = new URL(at);
  const [, names] = strictHosts.find(([host]) => host.test(hostname)) ?? [];
  return names ?? (searchParams.has("api-version") ? anthropics : []);
}

/** Takes them from the body, its tools and messages, and the parts and calls of these. */
export function dropForeign(members: Map<string, string>, foreign: readonly string[]): void {
  if (foreign.length === 0) return;
  for (const name of foreign) members.delete(name);
  const hasForeign = new RegExp(`"(${foreign.join("|")})"`);
  const without = (list: string, inner: readonly string[] = []): string => {
    if (!list.startsWith("[") || !hasForeign.test(list)) return list;
    const items = rawItems(list).map((item) => {
      if (!item.startsWith("{") || !hasForeign.test(item)) return item;
      const of = rawMembers(item);
      for (const name of foreign) of.delete(name);
      for (const name of inner) {
        const value = of.get(name);
        if (value !== undefined) of.set(name, without(value));
      }
      return objectOf(of);
    });
    return `[${items.join(",")}]`;
  };
  for (const [name, inner] of [["tools"], ["messages", ["content", "tool_calls"]]] as const) {
    const list = members.get(name);
    if (list !== undefined) members.set(name, without(list, inner));
  }
}
