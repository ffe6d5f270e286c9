// For tests of the openai arm: a real HTTP server on the loopback with scripted responses and
// faults.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach } from "vitest";
import { createAnthropicArm } from "../anthropic/anthropic.ts";
import { armRequest, aTurn } from "../request.testing.ts";
import { armSchema } from "../../config/schema.ts";
import type { Arm, ArmRequest } from "../arm.ts";
import type { ArmClock } from "./endpoint-arm.ts";
import { createOpenAiArm } from "./openai.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse, call: number) => void;
interface Received {
  body: Record<string, unknown>;
  /** The body as it came. */
  text: string;
  url: string;
  headers: IncomingMessage["headers"];
}

let server: Server | undefined;
let arm: Arm | undefined;
afterEach(async () => {
  await arm?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** A clock whose waits are over at once, and were noted. */
export function instantClock(): ArmClock & { waits: number[] } {
  const waits: number[] = [];
  const began = Date.now();
  return {
    waits,
    now: () => waits.reduce((sum, wait) => sum + wait, began),
    sleep: (ms) => (waits.push(ms), Promise.resolve()),
  };
}

export const secret = "sk-the-key";
export const prompt = "the whole prompt of the client";

/** Starts an endpoint; what it received and what the arm logged come back. */
export async function endpoint(handler: Handler, more: object = {}, clock?: ArmClock, path = "/v1") {
  const received: Received[] = [];
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString();
      const body = JSON.parse(text) as Record<string, unknown>;
      received.push({ body, text, url: request.url ?? "", headers: request.headers });
      handler(request, response, received.length);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const logged: string[] = [];
  arm = create(`http://127.0.0.1:${String(port)}${path}`, more, logged, clock);
  return { arm, received, logged };
}

function create(baseUrl: string, more: object, logged: string[] = [], clock?: ArmClock): Arm {
  const config = armSchema.parse({ name: "large", type: "openai", baseUrl, apiKey: secret, model: "m", ...more });
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  const dependencies = { log, backoff: () => 5, ...(clock && { clock }) };
  if (config.type === "anthropic") return createAnthropicArm(config, dependencies);
  if (config.type !== "openai") throw new Error("unreachable");
  return createOpenAiArm(config, dependencies);
}

export function request(more: { deadlineMs?: number; params?: Partial<ArmRequest["params"]> } = {}): ArmRequest {
  return armRequest({
    pieces: [{ kind: "system", id: null, role: "system", text: "Be brief." }, aTurn(prompt)],
    params: more.params ?? {},
    deadline: Date.now() + (more.deadlineMs ?? 60_000),
  });
}
export const never = (): AbortSignal => new AbortController().signal;

export const chunk = (content: string | null, finish: string | null = null, usage?: object): string =>
  `data: ${JSON.stringify({ id: "c", model: "m-1", choices: [{ index: 0, delta: content === null ? {} : { content }, finish_reason: finish }], usage })}\n\n`;
export const usage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 60 },
};
const usageChunk = `data: ${JSON.stringify({ id: "c", model: "m-1", choices: [], usage })}\n\n`;

export const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream" });
export const good: Handler = (_request, response) =>
  void stream(response).end(chunk("Hel") + chunk("lo") + chunk(null, "stop") + usageChunk + "data: [DONE]\n\n");
export const status = (
  response: ServerResponse,
  code: number,
  error: object = {},
  headers: Record<string, string> = {},
): void =>
  void response
    .writeHead(code, { "content-type": "application/json", ...headers })
    .end(JSON.stringify({ error: { message: `echo of ${prompt} and ${secret}`, ...error } }));

/** An arm whose endpoint has stopped listening. */
export async function refusingArm(more: object): Promise<Arm> {
  await endpoint(good);
  const { port } = server?.address() as AddressInfo;
  await new Promise((resolve) => server?.close(resolve));
  server = undefined;
  return (arm = create(`http://127.0.0.1:${String(port)}/v1`, more));
}
