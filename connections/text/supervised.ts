// Text work in a worker thread, started for the first long text. One that exceeds its limit is
// ended (text_timeout); the next call starts another. Short texts are done in place.
import pLimit from "p-limit";
import type { Logger } from "pino";
import { messageOf } from "../errors.ts";
import { mask } from "../../algorithms/privacy/mask.ts";
import { replacePersonalData } from "../../algorithms/privacy/pii.ts";
import { splitText } from "../../algorithms/text/split.ts";
import { connectWorker, WorkerDied, type WorkerClient } from "../worker/rpc.ts";
import type { TextMethods } from "./methods.ts";
import { TextError, type TextWork } from "./port.ts";

export interface TextOptions {
  /** Milliseconds that the worker may take for one call. */
  limitMs: number;
  log: Logger;
  /** Calls that may wait; more are rejected with text_busy. Default 64. */
  mostWaiting?: number;
  /** Characters up to which a call is done in place. */
  inPlace?: { split: number; redact: number };
  worker?: URL;
}

// A hop to the worker and back takes 0.13 ms; the worst texts of these lengths 6 ms (split) and 8
// ms (redact): bench/results/NOTES.md.
const shortTexts = { split: 4_096, redact: 1_024 };

/** Milliseconds for a worker to start, and between two attempts when one did not. */
const start = { limit: 30_000, pause: 10_000 };

export function createTextWork(options: TextOptions): TextWork {
  const { limitMs, log, mostWaiting = 64, inPlace = shortTexts } = options;
  const entry = options.worker ?? new URL("./worker.ts", import.meta.url);
  const inTurn = pLimit(1);
  let client: WorkerClient<TextMethods> | null = null;
  let notBefore = -Infinity;
  let closed = false;

  /** Rejects with text_timeout when it ended the worker because of the limit. */
  async function within<R>(running: WorkerClient<TextMethods>, limit: number, call: Promise<R>): Promise<R> {
    let settled = false;
    let late = false;
    const timer = setTimeout(() => {
      // Where the event loop was held up, an answer that came in time is read only after this
      // timer.
      setImmediate(() => {
        if (settled) return;
        late = true;
        running.kill(`it took more than ${limit} ms`);
      });
    }, limit);
    try {
      return await call;
    } catch (error) {
      const why = messageOf(error);
      if (late) throw new TextError("text_timeout", why, { cause: error });
      if (error instanceof WorkerDied) throw new TextError("text_unavailable", why, { cause: error });
      throw error;
    } finally {
      settled = true;
      clearTimeout(timer);
    }
  }

  async function connected(): Promise<WorkerClient<TextMethods>> {
    if (closed) throw new TextError("text_unavailable", "text work is closed");
    if (client?.alive === true) return client;
    if (performance.now() < notBefore)
      throw new TextError("text_unavailable", "the text worker did not start; it is tried again in a few seconds");
    const next = (client = connectWorker<TextMethods>({ name: "text", entry, data: null }));
    try {
      // Not part of the limit of a text: loading takes half a second, and more on a busy machine.
      await within(next, start.limit, next.call("split", { text: "", splitter: "size", most: 1 }));
      return next;
    } catch (error) {
      next.kill("it did not start");
      notBefore = performance.now() + start.pause;
      const why = messageOf(error);
      throw new TextError("text_unavailable", `the text worker did not start: ${why}`, { cause: error });
    }
  }

  async function run<R>(
    characters: number,
    work: (running: WorkerClient<TextMethods>) => Promise<R>,
    limit: number,
  ): Promise<R> {
    if (inTurn.pendingCount >= mostWaiting)
      throw new TextError("text_busy", `${mostWaiting} texts wait for the text worker already`);
    return inTurn(async () => {
      const running = await connected();
      try {
        return await within(running, limit, work(running));
      } catch (error) {
        if (!(error instanceof TextError) || error.code !== "text_timeout") throw error;
        log.warn({ characters, limitMs: limit }, "a text took too long: its worker is ended and replaced");
        throw new TextError("text_timeout", `${characters} characters were not done within ${limit} ms`, {
          cause: error,
        });
      }
    });
  }

  return {
    async split(text, splitter, most) {
      if (text.length <= inPlace.split) return splitText(text, splitter, most);
      return run(text.length, (running) => running.call("split", { text, splitter, most }), limitMs);
    },
    async redact(texts, redacting) {
      const characters = texts.reduce((sum, { length }) => sum + length, 0);
      if (characters <= inPlace.redact) return replacePersonalData(texts, redacting).texts;
      return run(characters, (running) => running.call("redact", { texts, options: redacting }), limitMs);
    },
    async mask(items, masking) {
      const characters = items.reduce((sum, { text }) => sum + text.length, 0);
      if (characters <= inPlace.redact) return mask(items, masking);
      return run(characters, (running) => running.call("mask", { items, options: masking }), limitMs);
    },
    check: async () => {
      await run(0, (running) => running.call("redact", { texts: [], options: {} }), start.limit);
    },
    async close() {
      closed = true;
      await client?.close(1_000);
    },
  };
}
