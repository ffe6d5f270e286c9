// OpenAI's Files and Batches API, as an arm needs it. A batch names its arm in its metadata, and
// its input file has the ids of its lines: what was submitted is found there again after a crash.
import { toFile, type OpenAI } from "openai";
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import { checkListed, createBatchClient, fileMs, objectsOf } from "../batches/http.ts";
import { keyHeaders } from "./body.ts";
import type { Provider, ProviderBatch } from "../batches/port.ts";

export interface OpenAiBatch extends ProviderBatch {
  inputFile: string;
  resultFiles: readonly string[];
}

const armKey = "precedent_arm";
/** The provider deletes the files after this time. */
const keptSeconds = 3 * 86_400;

export function createOpenAiBatches(
  { baseUrl = "", apiKey, headers, name }: OpenAiArmConfig,
  call?: typeof fetch,
): Provider<OpenAiBatch> {
  const { endpoint, ...address } = addressOf(baseUrl);
  const defaultHeaders = { authorization: null, ...keyHeaders({ baseUrl, apiKey, headers }) };
  const client = createBatchClient(
    { ...address, apiKey: "none", defaultHeaders },
    (path) => path.endsWith("/content"),
    call,
  );
  const objects = (file: string) =>
    objectsOf(client.files.content(file, { signal: AbortSignal.timeout(fileMs) }).asResponse());
  const expiry = { anchor: "created_at", seconds: keptSeconds } as const;

  return {
    async list(since) {
      const found: OpenAiBatch[] = [];
      let listed = 0;
      for await (const batch of client.batches.list({ limit: 100 })) {
        if (batch.created_at * 1_000 < since) break;
        checkListed(++listed);
        if (batch.metadata?.[armKey] === name) found.push(batchOf(batch));
      }
      return found;
    },
    async *lines({ inputFile, resultFiles }) {
      // Where the input was deleted, the results name their lines, too.
      for (const file of [inputFile, ...resultFiles]) {
        let found = false;
        for await (const { line } of objects(file)) {
          if (typeof line["custom_id"] === "string") yield line["custom_id"];
          found = true;
        }
        if (found && file === inputFile) return;
      }
    },
    async upload(lines) {
      const text = lines.map(
        ({ id, body }) =>
          `{"custom_id":${JSON.stringify(id)},"method":"POST","url":${JSON.stringify(endpoint)},"body":${body}}\n`,
      );
      const file = await toFile(Buffer.from(text.join("")), `${name}.jsonl`);
      return (await client.files.create({ file, purpose: "batch", expires_after: expiry })).id;
    },
    async create(inputFile) {
      const order = { input_file_id: inputFile, endpoint: endpoint as OpenAI.BatchCreateParams["endpoint"] };
      const more = { completion_window: "24h", metadata: { [armKey]: name }, output_expires_after: expiry } as const;
      // Never retried as it is: the first try may have been carried out.
      return batchOf(await client.batches.create({ ...order, ...more }, { maxRetries: 0 }));
    },
    look: async (id) => batchOf(await client.batches.retrieve(id)),
    async cancel(id) {
      await client.batches.cancel(id);
    },
    async *results({ resultFiles }) {
      for (const file of resultFiles)
        for await (const { line } of objects(file)) {
          const { custom_id: id, response, error } = line;
          if (typeof id !== "string") continue;
          const status = isObject(response) ? response["status_code"] : null;
          yield {
            ...{ id, error: codeOf(error) },
            response:
              isObject(response) && typeof status === "number" ? { status, body: response["body"], text: "" } : null,
          };
        }
    },
  };
}

/** Azure's batches are those of a resource, not of a deployment; its dated API has no /v1. */
function addressOf(baseUrl: string): { baseURL: string; defaultQuery: Record<string, string>; endpoint: string } {
  const url = new URL(baseUrl);
  const isDated = url.searchParams.has("api-version") && !/\/v1\/?$/.test(url.pathname);
  if (isDated) url.pathname = url.pathname.replace(/\/deployments\/[^/]+\/?$/, "");
  return {
    baseURL: url.origin + url.pathname,
    defaultQuery: Object.fromEntries(url.searchParams),
    endpoint: isDated ? "/chat/completions" : "/v1/chat/completions",
  };
}

function batchOf(batch: OpenAI.Batch): OpenAiBatch {
  const { id, created_at, status, input_file_id, output_file_id, error_file_id, errors } = batch;
  const codes = (errors?.data ?? []).slice(0, 3).map(codeOf);
  return {
    ...{ id, createdAt: created_at * 1_000, inputFile: input_file_id },
    isOpen: !["completed", "failed", "expired", "cancelled"].includes(status),
    ended: [status, ...codes].join("; "),
    resultFiles: [output_file_id, error_file_id].filter((file) => typeof file === "string"),
  };
}

/** Without its message, which may quote lines, of other tenants, too. */
const codeOf = (error: unknown): string => {
  const code = isObject(error) ? error["code"] : undefined;
  return typeof code === "string" ? code.slice(0, 64).replace(/[^\w.-]/g, " ") : "no code";
};
