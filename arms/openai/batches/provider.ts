// OpenAI's Files and Batches API, as an arm needs it. A batch names its arm in its metadata, and
// its input file has the ids of its lines: what was submitted is found there again after a crash.
import OpenAI, { APIError, toFile } from "openai";
import type { OpenAiArmConfig } from "../../../config/schema.ts";
import { isObject } from "../../../algorithms/text/json-shape.ts";
import { boundedFetch, partsOf, textOf } from "../bounded-fetch.ts";
import { NoResponse } from "../errors.ts";

export interface BatchLine {
  /** Unique among all requests of the arm. */
  id: string;
  /** JSON of a chat completion that is not streamed. */
  body: string;
}

export interface ProviderBatch {
  id: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  isOpen: boolean;
  /** completed, failed, expired or cancelled, with the provider's codes. */
  ended: string;
  inputFile: string;
  resultFiles: readonly string[];
}

export interface LineResult {
  id: string;
  /** Null: the line was not called; error says why. */
  response: { status: number; body: unknown } | null;
  error: string;
}

/** All reject with APIError and what a connection rejects with. */
export interface Provider {
  /** The arm's batches created since then, milliseconds since the epoch. */
  list(since: number): Promise<ProviderBatch[]>;
  /** Ids of the lines. */
  lines(batch: ProviderBatch): AsyncGenerator<string>;
  /** Resolves with the id of the file. */
  upload(lines: readonly BatchLine[]): Promise<string>;
  create(inputFile: string): Promise<ProviderBatch>;
  look(id: string): Promise<ProviderBatch>;
  cancel(id: string): Promise<void>;
  results(batch: ProviderBatch): AsyncGenerator<LineResult>;
}

const endpoint = "/v1/chat/completions";
const armKey = "precedent_arm";
const requestMs = 60_000;
/** Reading one file, whatever its length. */
const fileMs = 900_000;
const mostBodyBytes = 16 * 1_048_576;
/** A list that has more batches of two days has no end. */
const mostListed = 20_000;
/** The provider deletes the files after this time. */
const keptSeconds = 3 * 86_400;
const mostLineBytes = 16 * 1_048_576;

export function createProvider({ baseUrl = "", apiKey, name }: OpenAiArmConfig, call?: typeof fetch): Provider {
  const client = new OpenAI({
    ...{ baseURL: baseUrl, apiKey: apiKey === "" ? "none" : apiKey, organization: null, project: null },
    ...{ maxRetries: 2, timeout: requestMs, logLevel: "off" },
    fetch: (url, init) =>
      readFetch(url, init, call).catch((error: unknown) => {
        throw init?.signal?.aborted ? error : new NoResponse(error);
      }),
  });
  /** None where the file is gone. */
  async function* objects(file: string): AsyncGenerator<Record<string, unknown>> {
    const response = await client.files.content(file, { signal: AbortSignal.timeout(fileMs) }).catch(isGone);
    for await (const text of textLines(partsOf(response?.body ?? null))) {
      const value = parsed(text);
      if (isObject(value)) yield value;
    }
  }
  const expiry = { anchor: "created_at", seconds: keptSeconds } as const;

  return {
    async list(since) {
      const found: ProviderBatch[] = [];
      let listed = 0;
      for await (const batch of client.batches.list({ limit: 100 })) {
        if (batch.created_at * 1_000 < since) break;
        if (++listed > mostListed) throw new Error(`the provider lists more than ${mostListed} batches`);
        if (batch.metadata?.[armKey] === name) found.push(batchOf(batch));
      }
      return found;
    },
    async *lines({ inputFile, resultFiles }) {
      // Where the input was deleted, the results name their lines, too.
      for (const file of [inputFile, ...resultFiles]) {
        let found = false;
        for await (const { custom_id: id } of objects(file)) {
          if (typeof id === "string") yield id;
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
      const order = { input_file_id: inputFile, endpoint, completion_window: "24h" } as const;
      const more = { metadata: { [armKey]: name }, output_expires_after: expiry };
      // Never retried as it is: the first try may have been carried out.
      return batchOf(await client.batches.create({ ...order, ...more }, { maxRetries: 0 }));
    },
    look: async (id) => batchOf(await client.batches.retrieve(id)),
    async cancel(id) {
      await client.batches.cancel(id);
    },
    async *results({ resultFiles }) {
      for (const file of resultFiles)
        for await (const line of objects(file)) {
          const { custom_id: id, response, error } = line;
          if (typeof id !== "string") continue;
          const status = isObject(response) ? response["status_code"] : null;
          yield {
            ...{ id, error: codeOf(error) },
            response: isObject(response) && typeof status === "number" ? { status, body: response["body"] } : null,
          };
        }
    },
  };
}

function batchOf(batch: OpenAI.Batch): ProviderBatch {
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

export const isMissing = (error: unknown): error is APIError => error instanceof APIError && error.status === 404;
function isGone(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** Reads what is no file to its end, so that the client's time bounds it. */
async function readFetch(url: string | URL | Request, init?: RequestInit, call?: typeof fetch): Promise<Response> {
  const response = await boundedFetch(url, init, call);
  const address = new URL(url instanceof Request ? url.url : url);
  if (!response.ok || address.pathname.endsWith("/content")) return response;
  const headers = [...response.headers].filter(([name]) => !/^content-(length|encoding)$/.test(name));
  return new Response(await textOf(partsOf(response.body), mostBodyBytes), { status: response.status, headers });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Longer lines are left out. */
async function* textLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const taken = (): string => {
    const text = length > mostLineBytes ? "" : Buffer.concat(parts).toString();
    parts = [];
    length = 0;
    return text;
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      length += at - from;
      from = at + 1;
      yield taken();
    }
    length += chunk.length - from;
    if (length > mostLineBytes) parts = [];
    else parts.push(chunk.subarray(from));
  }
  if (length > 0) yield taken();
}
