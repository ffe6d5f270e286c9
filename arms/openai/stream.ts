// The stream of an answer: server-sent events, each a piece of it. The client's own reader takes as
// long again as everything else of a call.
import { createParser } from "eventsource-parser";
import { isObject, jsonOf } from "../../algorithms/text/json-shape.ts";
import { counted } from "../../connections/http/bodies.ts";
import { mostBytes } from "./bounded-fetch.ts";
import { NotACompletion } from "./errors.ts";

/** Connections that end within this time after the stream can be used again. */
const longestEndMs = 50;
/** Characters of an error that is no event, and how often one is looked for in a stream. */
const longestError = 8_192;
const mostLooks = 16;

/**
 * Resolves at the end of the stream; true: it was in order, with [DONE] or message_stop. Throws
 * what the connection does, what onValue does, SyntaxError, BodyTooLong, or NotACompletion: no
 * event is longer than `most` characters. leave() has to end the call: it is made where the
 * endpoint does not.
 */
export async function readStream(
  bytes: AsyncIterable<Uint8Array>,
  most: number,
  onValue: (value: unknown, text: string) => void,
  leave: () => void,
): Promise<boolean> {
  let done = false;
  let isTail = false;
  let bare = "";
  let looks = 0;
  const parser = createParser({
    maxBufferSize: most,
    onEvent({ event, data }) {
      // What follows is not looked at.
      done ||= event === "message_stop" || /^\s*"?\[DONE\]/.test(data);
      bare = "";
      if (done || saysNothing.test(data.trim())) return;
      let value: unknown;
      try {
        value = JSON.parse(data);
      } catch (error) {
        // The stream broke off within it, or it is no piece of an answer.
        if (isTail || keepAlive.has(event ?? "")) return;
        if (event !== "error") throw error;
        value = data;
      }
      if (value !== null) onValue(event === "error" ? asError(value) : value, data);
    },
    onError({ type, field = "", value = "", line = "" }) {
      if (type === "max-buffer-size-exceeded") throw new NotACompletion("an event is too long");
      if (type !== "unknown-field" || done) return;
      // llama-server's errors until late 2025 are lines of this name.
      const named = field === "error" ? jsonOf(value) : undefined;
      if (isObject(named)) return onValue(asError(named), value);
      // Gemini breaks off with an error as JSON, in lines of their own.
      if (bare === "" ? !/^[[{]/.test(line) : bare.length >= longestError) return;
      const mayEnd = (bare === "" || /^[\]}]/.test(line)) && /[\]}]\s*$/.test(line);
      bare += `${line}\n`;
      if (!mayEnd || ++looks > mostLooks) return;
      const error = jsonOf(bare);
      const [first] = Array.isArray(error) ? (error as unknown[]) : [error];
      if (isObject(first) && "error" in first) onValue(first, bare);
    },
  });
  const decoder = new TextDecoder();
  let timer: NodeJS.Timeout | undefined;
  try {
    for await (const part of counted(bytes, mostBytes.stream)) {
      parser.feed(decoder.decode(part, { stream: true }));
      if (done) timer ??= setTimeout(leave, longestEndMs);
    }
  } catch (error) {
    if (!done) throw error;
  } finally {
    clearTimeout(timer);
  }
  // Some leave out the blank line behind the last event.
  isTail = true;
  parser.feed(`${decoder.decode()}\n\n`);
  return done;
}

const asError = (value: unknown): unknown => (isObject(value) && "error" in value ? value : { error: value });

const saysNothing = /^"?(ping|pong|heartbeat|keep-?alive)?"?$/i;
const keepAlive: ReadonlySet<string> = new Set(["ping", "heartbeat", "keepalive", "keep-alive"]);
