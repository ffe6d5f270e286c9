// Answers with odd members: the arm's text, calls and cost are those of a reader that is written
// here apart, or the answer is a clear error. Never free, never a wrong call.
import { pino } from "pino";
import { expect, it } from "vitest";
import { armSchema } from "../../config/schema.ts";
import { isArmsFault, type ArmAnswer, type ArmResult } from "../arm.ts";
import { armRequest, aTurn } from "../request.testing.ts";
import { mutated, seeded, valid, type Mutated } from "./odd-answers.testing.ts";
import { createOpenAiArm } from "./openai.ts";

type Json = Record<string, unknown>;
const prices = { prompt: 3, completion: 11 };
const question = "What is there to say of it?";
const config = (stream: boolean) => {
  const read = armSchema.parse({
    ...{ name: "a", type: "openai", baseUrl: "http://127.0.0.1:9/v1", model: "m", retries: 0, prices, stream },
    ...{ tools: true, parameters: true },
  });
  if (read.type !== "openai") throw new Error("unreachable");
  return read;
};
let respond = (): Response => expect.fail();
const fetch = () => Promise.resolve(respond());
const arms = [true, false].map((stream) => createOpenAiArm(config(stream), { log: pino({ level: "silent" }), fetch }));

async function answered(status: number, body: readonly Buffer[], isWhole: boolean) {
  const headers = { "content-type": isWhole ? "application/json" : "text/event-stream" };
  respond = () => new Response(ReadableStream.from(body), { status, headers });
  const passthrough = JSON.stringify({ tools: [{ type: "function", function: { name: "look_up" } }] });
  const request = { ...armRequest({ pieces: [aTurn(question)] }), deadline: Date.now() + 60_000, passthrough };
  const pieces: string[] = [];
  const result = await arms[isWhole ? 1 : 0]!.answer(request, new AbortController().signal, (text) =>
    pieces.push(text),
  );
  return { result, streamed: pieces.join(""), passthrough };
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
class Unreadable extends Error {}
/** Objects of a list, or an object that should be one. */
function objects(value: unknown): Json[] {
  const list =
    value === null || value === undefined ? [] : Array.isArray(value) ? value.filter((one) => one !== null) : [value];
  if (!list.every(isObject)) throw new Unreadable();
  return list;
}
function positive(value: unknown): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : typeof value === "number" ? value : NaN;
  return number > 0 && number <= 1e9 ? Math.ceil(number) : 0;
}
/** The project's estimate: 3.5 ASCII characters a token, one of any other. */
function estimate(text: string): number {
  const wide = text.length - text.replace(/[^\0-\x7f]/g, "").length;
  return Math.ceil((text.length - wide) / 3.5) + wide;
}

interface Expected {
  text: string;
  calls: { name: string; text: string }[];
  cost: number;
  estimated: boolean;
}
/** Throws Unreadable for what can only be an error. */
function expectedOf({ isWhole, values, isDone }: Mutated, passthrough: string): Expected {
  let [text, thought, ended, hasMessage] = ["", "", isWhole, false];
  const calls: { id: unknown; name: unknown; text: string }[] = [];
  const most = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cached: 0 };
  for (const value of values) {
    if (!isObject(value)) throw new Unreadable();
    if (isObject(value["usage"])) {
      for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"] as const)
        most[name] = Math.max(most[name], positive(value["usage"][name]));
      const details = value["usage"]["prompt_tokens_details"];
      if (isObject(details)) most.cached = positive(details["cached_tokens"]);
    }
    for (const choice of objects(value["choices"])) {
      const given = choice[isWhole ? "message" : "delta"] ?? null;
      if (given !== null && !isObject(given)) throw new Unreadable();
      if (given !== null) hasMessage = true;
      const { content = null } = given ?? {};
      const parts =
        typeof content === "string" ? [content] : content === null ? [] : Array.isArray(content) ? content : [content];
      const before = text;
      for (const part of parts as unknown[]) {
        if (typeof part === "string") text += part;
        else if (isObject(part) && typeof part["thinking"] === "string" && part["thinking"] !== "") {
          thought += part["thinking"];
          if (typeof part["text"] === "string") text += part["text"];
        } else if (isObject(part) && part["type"] === "thinking") continue;
        else if (isObject(part) && typeof part["text"] === "string") text += part["text"];
        // An image or the like.
        else if (
          isObject(part) &&
          part["text"] === undefined &&
          typeof part["type"] === "string" &&
          part["type"] !== "text"
        )
          continue;
        else if (part !== null && !(isObject(part) && part["text"] === null)) throw new Unreadable();
      }
      if (text === before && typeof given?.["refusal"] === "string") text += given["refusal"];
      for (const one of objects(given?.["tool_calls"])) {
        const called = one["function"] ?? {};
        if (!isObject(called)) throw new Unreadable();
        const args = called["arguments"] ?? "";
        if (typeof args !== "string" && !isObject(args)) throw new Unreadable();
        const part = typeof args === "string" ? args : JSON.stringify(args);
        const last = calls.at(-1);
        // The valid answers have one call after the other, each with a name at its beginning.
        if (!isWhole && last !== undefined && !one["id"] && !called["name"]) last.text += part;
        else calls.push({ id: one["id"], name: called["name"], text: part });
      }
      const reason = choice["finish_reason"];
      // Another word may be one of an answer that goes on, unless the stream ends in order.
      if (typeof reason === "string" && reason !== "")
        ended ||= isDone || ["stop", "length", "tool_calls"].includes(reason);
    }
  }
  if (!ended || !hasMessage) throw new Unreadable();
  for (const one of calls) {
    if (typeof one.name !== "string" || one.name === "") throw new Unreadable();
    if (one.text !== "" && !isObjectText(one.text)) throw new Unreadable();
  }
  const written = [text, thought, ...calls.flatMap((one) => [one.name as string, one.text])];
  const ofWritten = written.reduce((sum, one) => sum + estimate(one), 0);
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, cached } = most;
  const tokens = { prompt, completion: completion || Math.max(0, prompt && total - prompt) };
  const isGuessed = tokens.completion === 0;
  tokens.completion ||= ofWritten;
  if (prompt > 0 && total > prompt + tokens.completion) {
    if (total - prompt - tokens.completion === cached) tokens.prompt += cached;
    else tokens.completion = total - prompt;
  }
  tokens.prompt ||= Math.max(0, total - tokens.completion);
  const isPromptGuessed = tokens.prompt === 0;
  tokens.prompt ||= Math.max(estimate(question) + estimate(passthrough), cached);
  return {
    text: text.toWellFormed(),
    calls: calls as { name: string; text: string }[],
    cost: (tokens.prompt * prices.prompt + tokens.completion * prices.completion) / 1e6,
    estimated: isGuessed || isPromptGuessed,
  };
}
function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

const callsOf = ({ passthrough }: ArmAnswer): Json[] => {
  const { message } = JSON.parse(passthrough ?? "{}") as { message?: { tool_calls?: Json[] } };
  return message?.tool_calls ?? [];
};
const codes = new Set(["endpoint_unavailable", "stream_cut", "model_failed"]);

/** "": as it must be. */
function wrongWith(result: ArmResult, streamed: string, seed: number, passthrough: string): string {
  let expected: Expected | null = null;
  try {
    expected = expectedOf(mutated(seed), passthrough);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
  }
  if (result.kind === "failure") {
    // Pieces of a call that name another index may be told apart from it, or not.
    const isOdd = JSON.stringify(mutated(seed).values).includes('"index":"12"');
    const isClear = codes.has(result.code) && result.message !== "";
    return isClear && (expected === null || isOdd) ? "failed" : `${result.code}: ${result.message}`;
  }
  if (expected === null) return `an answer of what can't be read: ${JSON.stringify(result)}`;
  if (result.text !== expected.text || streamed !== expected.text) return `text ${result.text}, streamed ${streamed}`;
  if (!(result.cost > 0)) return "free";
  if (Math.abs(result.cost - expected.cost) > 1e-12) return `cost ${result.cost}, not ${expected.cost}`;
  if (result.usage.estimated !== expected.estimated) return `estimated: ${result.usage.estimated}`;
  const read = callsOf(result).map(({ function: called }) => called as Json);
  const isSame =
    read.length === expected.calls.length &&
    expected.calls.every(
      ({ name, text }, index) => read[index]!["name"] === name && read[index]!["arguments"] === text,
    );
  return isSame ? "" : `calls ${JSON.stringify(read)}, not ${JSON.stringify(expected.calls)}`;
}

it(
  "10,000 mutations give the text, the calls and the cost that they say, or a clear error",
  { timeout: 120_000 },
  async () => {
    const wrong: string[] = [];
    let failed = 0;
    for (let seed = 0; seed < 10_000; seed++) {
      const { isWhole, body } = mutated(seed);
      const { result, streamed, passthrough } = await answered(200, body, isWhole);
      const problem = wrongWith(result, streamed, seed, passthrough);
      if (problem === "failed") failed++;
      else if (problem !== "") wrong.push(`${seed}: ${problem}`);
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    // Most are answers: an arm that always fails would pass, too.
    expect(failed).toBeLessThan(4_000);
  },
);

it("the answers without a mutation are read as they are", async () => {
  for (const [at, values] of valid.entries()) {
    const isWhole = at > 2;
    const body = isWhole
      ? JSON.stringify(values[0])
      : values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
    const { result } = await answered(200, [Buffer.from(body)], isWhole);
    expect(result).toMatchObject({
      kind: "answer",
      usage: { prompt: 1_000, prefilled: 800, completion: 500, estimated: false },
    });
  }
});

it("errors of a request stay its own, whatever their bodies say", async () => {
  for (let seed = 0; seed < 500; seed++) {
    const random = seeded(seed);
    const status = [400, 413, 422][seed % 3]!;
    const error: Json = { message: "m", type: "invalid_request_error", param: null, code: "context_length_exceeded" };
    const names = Object.keys(error);
    error[names[Math.floor(random() * 4)]!] = [null, 5, "", [], {}, true, "word"][Math.floor(random() * 7)];
    const body = [{ error }, error, [{ error }], { error: "text" }, { detail: error }, "text", null][
      Math.floor(random() * 7)
    ];
    const { result } = await answered(status, [Buffer.from(JSON.stringify(body))], true);
    expect(
      result.kind === "failure" && { fault: isArmsFault(result), retriable: result.retriable },
      String(seed),
    ).toEqual({
      ...{ fault: false, retriable: false },
    });
  }
});
