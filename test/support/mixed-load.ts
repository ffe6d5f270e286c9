// Clients that ask at a steady rate while servers are killed: over HTTP for a whole answer or a
// stream, each with an Idempotency-Key and retries, and over Kafka. Says of every request what the
// client took for its answer, how long that took, and what it had seen of answers that were cut.
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import type { Session } from "../../pipelines/session.ts";
import { follow } from "./follow.ts";
import { requestOf } from "./system.ts";

const ways = ["whole", "kafka", "stream", "kafka"] as const;

interface Asked {
  via: (typeof ways)[number];
  arm: string;
  question: string;
}
export interface Answered extends Asked {
  /** The request's id, as the answer has it. */
  id: string;
  text: string;
  /** From the first attempt to the whole answer. */
  waitMs: number;
  at: number;
  /** What streams had shown when they were cut, in order; failed attempts without a text are "". */
  cut: string[];
}

export interface MixedLoad {
  issued(): number;
  /** Those with an answer so far. */
  answered: readonly Answered[];
  /**
   * Asks one more, for a stream of several seconds, at this address first; resolves when some of
   * the answer has come, or when there will be none, of which finish() tells.
   */
  streamAt(baseUrl: string): Promise<void>;
  /** Asks again over HTTP, with the same key. */
  again(of: Answered): Promise<{ text: string; duplicate: boolean }>;
  /** Ends the load; rejects when a request has no answer within that time of its first attempt. */
  finish(): Promise<void>;
}

export interface MixedLoadOptions {
  baseUrl: string;
  /** For requests over Kafka. */
  session: Session;
  /** Asked in turn. */
  arms: readonly string[];
  perSecond: number;
  /** No request is sent while so many have no answer. */
  mostWaiting: number;
  /** Each request must have its answer by then. */
  withinMs: number;
}

export async function startMixedLoad(options: MixedLoadOptions): Promise<MixedLoad> {
  const { session, arms, perSecond, mostWaiting, withinMs } = options;
  const { kafka, codec, topic } = session;
  const clientOf = (baseURL: string) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 30_000 });
  const balanced = clientOf(options.baseUrl);
  const producer = kafka.plainProducer();
  const waiting = new Map<string, (text: string) => void>();
  const tail = await follow(session, "responses", ({ requestId, text }) => waiting.get(requestId)?.(text));
  const answered: Answered[] = [];
  const asked: Promise<void>[] = [];
  let stopping = false;

  const whole = async ({ question, arm }: Asked): Promise<Attempt> => {
    const { data, response } = await balanced.chat.completions
      .create({ model: arm, messages: user(question) }, { headers: headersOf(question) })
      .withResponse();
    return attempt(response, data.choices[0]?.message.content ?? "");
  };
  /** `seen` takes what has come, so that it is known of a stream that is cut. */
  const streamed = async ({ question, arm }: Asked, seen: Seen, client: OpenAI): Promise<Attempt> => {
    const { data, response } = await client.chat.completions
      .create({ model: arm, messages: user(question), stream: true }, { headers: headersOf(question) })
      .withResponse();
    let finished = false;
    for await (const { choices } of data) {
      seen.text += choices[0]?.delta.content ?? "";
      if (seen.text !== "") seen.onText();
      finished ||= choices[0]?.finish_reason === "stop";
    }
    if (!finished) throw new HalfTaken(`a stream of "${question}" ended without an error after "${seen.text}"`);
    return attempt(response, seen.text);
  };
  const overHttp = async (asked: Asked, first = balanced, onText = () => {}): Promise<void> => {
    const cut: string[] = [];
    const failures: string[] = [];
    const began = Date.now();
    for (;;) {
      const seen = { text: "", onText };
      try {
        const { id, text } = await (asked.via === "whole"
          ? whole(asked)
          : streamed(asked, seen, cut.length === 0 ? first : balanced));
        const at = Date.now();
        answered.push({ ...asked, id, text, waitMs: at - began, at, cut });
        return;
      } catch (error) {
        cut.push(seen.text);
        failures.push(`after ${Date.now() - began} ms: ${String(error)}`);
        if (!isPassing(error) || Date.now() > began + withinMs)
          throw new Error(`"${asked.question}" (${asked.via}, ${asked.arm}) has no answer: ${failures.join("; ")}`);
        await sleep(300);
      }
    }
  };
  const overKafka = async (asked: Asked): Promise<void> => {
    const allow = { arms: [asked.arm], maxCost: null, deadlineMs: null, costWeight: null };
    const request = requestOf(asked.question, { allow });
    const { id } = request;
    const value = codec.encode("requests", request);
    const began = Date.now();
    const came = new Promise<string>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no response to ${id} within ${withinMs} ms`)), withinMs);
      waiting.set(id, (text) => {
        clearTimeout(late);
        waiting.delete(id);
        resolve(text);
      });
    });
    const sent = (async () => {
      for (;;)
        try {
          return await producer.send([{ topic: topic("requests"), key: id, value }]);
        } catch (error) {
          if (Date.now() > began + withinMs) throw error;
          await sleep(300);
        }
    })();
    const [text] = await Promise.all([came, sent]);
    const at = Date.now();
    answered.push({ ...asked, id, text, waitMs: at - began, at, cut: [] });
  };

  const next = (via: Asked["via"]): Asked => ({
    via,
    arm: arms[Math.floor(asked.length / ways.length) % arms.length] ?? "",
    question: `counted ${asked.length} has an answer of several words`,
  });
  const ask = (answer: Promise<void>): void => {
    // Reported by finish().
    answer.catch(() => undefined);
    asked.push(answer);
  };
  const load = (async () => {
    while (!stopping) {
      if (asked.length - answered.length >= mostWaiting) {
        await sleep(50);
        continue;
      }
      const one = next(ways[asked.length % ways.length] ?? "whole");
      ask(one.via === "kafka" ? overKafka(one) : overHttp(one));
      await sleep(1_000 / perSecond);
    }
  })();

  return {
    issued: () => asked.length,
    answered,
    streamAt: (baseUrl) =>
      new Promise((resolve) => {
        const one = next("stream");
        const long = { ...one, question: one.question + " and some more".repeat(8) };
        ask(overHttp(long, clientOf(baseUrl), resolve).finally(resolve));
      }),
    again: whole,
    async finish() {
      stopping = true;
      await load;
      try {
        await Promise.all(asked);
      } finally {
        await Promise.all([tail.stop(), producer.close()]);
      }
    },
  };
}

interface Seen {
  text: string;
  onText(): void;
}
interface Attempt {
  id: string;
  text: string;
  duplicate: boolean;
}
class HalfTaken extends Error {
  override name = "HalfTaken";
}

const headersOf = (question: string) => ({ "Idempotency-Key": question.replaceAll(" ", "-") });
const user = (content: string) => [{ role: "user" as const, content }];
const attempt = ({ headers }: globalThis.Response, text: string): Attempt => ({
  id: headers.get("x-precedent-request-id") ?? "",
  text,
  duplicate: headers.get("x-precedent-duplicate") === "true",
});
/** What may be sent again (docs/gateway.md, Errors). */
function isPassing(error: unknown): boolean {
  if (error instanceof HalfTaken) return false;
  if (!(error instanceof OpenAI.APIError)) return true;
  const status = error.status as number | undefined;
  return status === undefined || [408, 429, 502, 503].includes(status);
}
