// Anthropic's Message Batches for the collector. A batch goes by its record's id.
import { APIError } from "openai";
import { v4 as uuid } from "uuid";
import { rawMembers } from "../../../algorithms/text/exact-json.ts";
import { isObject } from "../../../algorithms/text/json-shape.ts";
import type { AnthropicArmConfig } from "../../../config/sections/arms.ts";
import type { SubmittedBatch } from "../../../schemas/types.ts";
import type { BatchLine, LineResult, Provider, ProviderBatch } from "../../batches/port.ts";
import { createBatchesApi } from "./api.ts";
import { bytesOf, createMatching, shortIds, type BatchRecords } from "./match.ts";

export interface MessageBatchesDependencies {
  records: BatchRecords;
  /** In place of a connection; for tests. */
  fetch?: typeof fetch | undefined;
}

export function createMessageBatches(
  config: AnthropicArmConfig,
  { records, fetch: call }: MessageBatchesDependencies,
): Provider {
  const { name, batchCollectMs } = config;
  const api = createBatchesApi(config, call);
  const matching = createMatching({ api, records, collectMs: batchCollectMs, clock: Date.now });
  /** Records whose batch is not looked for any more. */
  const abandoned = new Set<string>();
  let uploaded: { id: string; lines: readonly BatchLine[] } | undefined;

  const open = ({ id, createdAt }: SubmittedBatch): ProviderBatch => ({
    ...{ id, createdAt, isOpen: true, ended: "in_progress" },
  });

  return {
    list: async (since) => (await matching.read(name, since)).map(open),
    async *lines({ id }) {
      await Promise.resolve();
      yield* shortIds(matching.find(id)?.lines ?? Buffer.alloc(0));
    },
    upload(lines) {
      uploaded = { id: uuid(), lines };
      return Promise.resolve(uploaded.id);
    },
    async create(id) {
      const lines = uploaded?.id === id ? uploaded.lines : [];
      uploaded = undefined;
      const ids = bytesOf(lines.map((line) => line.id));
      const record = { id, arm: name, lines: ids, batch: null, createdAt: Date.now() };
      const requests = lines.map((line) => `{"custom_id":${JSON.stringify(line.id)},"params":${line.body}}`);
      await matching.keep(record);
      const batch = await api.create(`[${requests.join(",")}]`).catch(async (error: unknown) => {
        if (wasNotCreated(error)) await records.remove(id);
        throw error;
      });
      await matching.keep({ ...record, batch: batch.id });
      return open(record);
    },
    async look(id) {
      const record = matching.find(id);
      if (record === undefined) throw new Error(`no batch was submitted as ${id}`);
      if (record.batch === null && abandoned.has(id))
        return { ...open(record), isOpen: false, ended: "it is not known which one it is" };
      const batch = await matching.batchOf(record);
      if (batch === null) return { ...open(record), isOpen: false, isVoid: true };
      if (batch === undefined) return open(record);
      const { status } = await api.look(batch);
      return { ...open(record), isOpen: status !== "ended", ended: status === "canceling" ? "cancelling" : status };
    },
    async cancel(id) {
      const batch = matching.find(id)?.batch ?? null;
      // Before it is known, it may be another's.
      if (batch === null) abandoned.add(id);
      else await api.cancel(batch);
    },
    async *results({ id }) {
      const batch = matching.find(id)?.batch ?? null;
      if (batch === null) return;
      for await (const { line, text } of api.results(batch)) yield resultOf(line, text);
    },
  };
}

/** Other errors may come after the batch was created. */
const wasNotCreated = (error: unknown): boolean =>
  error instanceof APIError && (error.status < 500 || error.status === 503 || error.status === 529);

/** @param text the line */
function resultOf({ custom_id: id, result }: Record<string, unknown>, text: string): LineResult {
  const { type, message, error } = isObject(result) ? result : {};
  const of = { id: String(id), error: typeof type === "string" ? type.slice(0, 64) : "no result" };
  if (type === "succeeded") {
    const whole = rawMembers(rawMembers(text).get("result") ?? "{}").get("message") ?? "null";
    return { ...of, response: { status: 200, body: message, text: whole } };
  }
  if (type !== "errored" || !isObject(error)) return { ...of, response: null };
  const inner = isObject(error["error"]) ? error["error"]["type"] : undefined;
  return { ...of, response: { status: statuses[String(inner)] ?? 500, body: error, text: "" } };
}

/** Statuses of errors by their types, as the Messages API has them. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
};
