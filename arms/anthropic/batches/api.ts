// Calls of Anthropic's Message Batches.
import { isObject } from "../../../algorithms/text/json-shape.ts";
import { anthropicUrl, type AnthropicArmConfig } from "../../../config/sections/arms.ts";
import { checkListed, createBatchClient, fileMs, objectsOf } from "../../batches/http.ts";
import { messagesHeaders, messagesUrl } from "../anthropic.ts";

export type MessageBatch = ReturnType<typeof batchOf>;

/** All reject with APIError and what a connection rejects with. */
export interface BatchesApi {
  /** All of the workspace that were created since then, newest first. */
  list(since: number): Promise<MessageBatch[]>;
  /** requests: JSON. Never tried twice: the first try may have been carried out. */
  create(requests: string): Promise<MessageBatch>;
  look(id: string): Promise<MessageBatch>;
  cancel(id: string): Promise<void>;
  /** Lines of the results; none where they are gone. */
  results(id: string): ReturnType<typeof objectsOf>;
}

type Json = Record<string, unknown>;

export function createBatchesApi(
  { baseUrl = anthropicUrl, ...keyed }: Pick<AnthropicArmConfig, "baseUrl" | "apiKey" | "headers">,
  call?: typeof fetch,
): BatchesApi {
  const client = createBatchClient(
    { baseURL: baseUrl, apiKey: "none", defaultHeaders: { authorization: null, ...messagesHeaders(keyed) } },
    (path) => path.endsWith("/results"),
    call,
  );
  const urlOf = (path: string): string => {
    const url = new URL(messagesUrl(baseUrl));
    url.pathname += `/batches${path}`;
    return url.href;
  };
  return {
    async list(since) {
      const found: MessageBatch[] = [];
      let query: Record<string, string> = { limit: "100" };
      for (let listed = 0; ;) {
        const { data, has_more: hasMore, last_id: last } = await client.get<Json>(urlOf(""), { query });
        if (!Array.isArray(data)) throw new Error("the provider's list of batches can't be read");
        const page = data.map((one: unknown) => batchOf(isObject(one) ? one : {}));
        found.push(...page.filter(({ createdAt }) => !(createdAt < since)));
        if (hasMore !== true || page.some(({ createdAt }) => createdAt < since)) return found;
        if (typeof last !== "string") throw new Error("the provider's list of batches can't be read to its end");
        checkListed((listed += page.length));
        if (page.length === 0 || last === query["after_id"])
          throw new Error("the provider's list of batches has no end");
        query = { ...query, after_id: last };
      }
    },
    async create(requests) {
      const body = `{"requests":${requests}}`;
      const headers = { "content-type": "application/json" };
      const created = await client.post<unknown>(urlOf(""), { body, headers, maxRetries: 0 });
      const batch = batchOf(isObject(created) ? created : {});
      if (batch.id === "") throw new Error("the provider created a batch and did not name it");
      return batch;
    },
    look: async (id) => batchOf(await client.get<Json>(urlOf(`/${encodeURIComponent(id)}`))),
    async cancel(id) {
      await client.post(urlOf(`/${encodeURIComponent(id)}/cancel`));
    },
    // Not results_url: it may name an address that no configuration does.
    results: (id) =>
      objectsOf(
        client.get(urlOf(`/${encodeURIComponent(id)}/results`), { signal: AbortSignal.timeout(fileMs) }).asResponse(),
      ),
  };
}

function batchOf({ id, created_at: created, request_counts: counts, processing_status: status }: Json) {
  return {
    /** Empty where the provider's can't be read. */
    id: typeof id === "string" ? id : "",
    /** Milliseconds since the epoch; NaN where the provider's date can't be read. */
    createdAt: Date.parse(String(created)),
    /** in_progress, canceling or ended. */
    status: String(status),
    /** Lines; NaN where the provider's counts can't be read. */
    size: linesOf(counts),
  };
}

/** NaN where one can't be read, and for none: no batch is empty. */
function linesOf(counts: unknown): number {
  const all = isObject(counts) ? Object.values(counts) : [];
  const sum = all.reduce<number>((sum, count) => (typeof count === "number" ? sum + count : NaN), 0);
  return sum === 0 ? NaN : sum;
}
