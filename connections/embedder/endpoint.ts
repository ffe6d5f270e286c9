// An embedder behind OpenAI's API (POST baseUrl/embeddings), as OpenAI, vLLM, TEI and Infinity
// serve it. A text that the endpoint refuses fails alone, whatever else was in its call.
import type { Logger } from "pino";
import { waitAfter } from "../../algorithms/queueing/backoff.ts";
import { messageOf } from "../errors.ts";
import { beginningOf, BodyTooLong, partsOf, textOf } from "../http/bodies.ts";
import { createBatchingEmbedder } from "./batching.ts";
import { readEmbeddings } from "./embeddings.ts";
import { maxCharacters } from "./methods.ts";
import { EmbedderError, type Embedder } from "./port.ts";

export interface EndpointEmbedderOptions {
  /** Up to /v1. */
  baseUrl: string;
  apiKey: string;
  model: string;
  dimension: number;
  /** Texts of a call. */
  maxBatch: number;
  cacheEntries: number;
  log: Logger;
  /** Milliseconds between attempts; for tests. */
  waits?: { first: number; limit: number };
}

/** Concurrent calls, and attempts per call. */
const most = { calls: 8, attempts: 3 };
const timeoutMs = 30_000;
/** Most bytes of an error, and of an answer for a text: vectors of another model are told apart. */
const mostBytes = { error: 1_048_576, text: 32 * 8_192 };
/** About 250 tokens, which every embedding model takes. */
const shortCharacters = 800;
/** Statuses that blame a text, usually one that is too long. */
const refusesTexts = new Set([400, 413, 422]);

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Makes no call until the first text arrives. */
export function createEndpointEmbedder(options: EndpointEmbedderOptions): Embedder {
  const { baseUrl, apiKey, model, dimension, log, waits = { first: 200, limit: 2_000 } } = options;
  const url = withPath(baseUrl);
  const closing = new AbortController();
  const headers = {
    "content-type": "application/json",
    ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
  };

  async function call(input: readonly string[]): Promise<Float32Array> {
    const response = await fetch(url, {
      ...{ method: "POST", headers, body: JSON.stringify({ model, input, encoding_format: "float" }) },
      // Followed, it would take texts and key to an address that no configuration names.
      redirect: "manual",
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (response.ok) {
      const most = mostBytes.error + input.length * (32 * dimension + mostBytes.text);
      return readEmbeddings(await wholeOf(response, most), input.length, dimension);
    }
    const text = await beginningOf(response.body, mostBytes.error);
    const words = apiKey.length < 4 ? text : text.replaceAll(apiKey, "[key]");
    throw new Refused(response.status, `answered ${response.status}: ${words.replace(/\s+/g, " ").slice(0, 300)}`);
  }

  async function patiently(input: readonly string[]): Promise<Float32Array> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await call(input);
      } catch (error) {
        const passes =
          error instanceof Refused ? error.status === 429 || error.status >= 500 : !(error instanceof EmbedderError);
        if (closing.signal.aborted || !passes || attempt >= most.attempts) throw error;
        await new Promise((resolve) => setTimeout(resolve, waitAfter(attempt - 1, waits)));
      }
    }
  }

  /** A refused text has NaN: at most two calls for each text and one for each half. */
  async function embed(texts: readonly string[]): Promise<Float32Array> {
    try {
      return await patiently(texts);
    } catch (error) {
      if (!(error instanceof Refused) || !refusesTexts.has(error.status)) throw error;
      const [first = ""] = texts;
      if (texts.length > 1) {
        const half = texts.length >> 1;
        const parts = [await embed(texts.slice(0, half)), await embed(texts.slice(half))];
        return Float32Array.from(parts.flatMap((part) => [...part]));
      }
      if (first.length > shortCharacters) return embed([first.slice(0, shortCharacters).toWellFormed()]);
      log.warn({ model, characters: first.length, reason: error.message }, "the embedding endpoint refuses a text");
      return new Float32Array(dimension).fill(Number.NaN);
    }
  }

  return createBatchingEmbedder({
    ...options,
    atOnce: most.calls,
    async run(texts) {
      try {
        return await embed(texts.map((text) => text.slice(0, maxCharacters).toWellFormed() || " "));
      } catch (error) {
        if (error instanceof EmbedderError) throw error;
        throw new EmbedderError("embedder_unavailable", `the embedding endpoint ${url.origin} ${reasonOf(error)}`);
      }
    },
    async close() {
      closing.abort(new Error("the embedder was closed"));
    },
  });
}

/** fetch reports only "fetch failed"; the cause has the reason. */
const reasonOf = (error: unknown): string =>
  error instanceof Refused
    ? error.message
    : `can't be asked: ${messageOf((error as Error | undefined)?.cause ?? error)}`;

/** A longer answer is not asked for again. */
const wholeOf = ({ body }: Response, most: number): Promise<string> =>
  textOf(partsOf(body), most).catch((error: unknown) => {
    if (!(error instanceof BodyTooLong)) throw error;
    throw new EmbedderError("embedder_unavailable", `the embedding endpoint gave ${error.message}`);
  });

/** A query (?api-version=...) stays. */
function withPath(baseUrl: string): URL {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/embeddings`;
  return url;
}
