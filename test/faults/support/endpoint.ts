// A model endpoint on the loopback with scripted faults: it refuses connections, hangs, answers 429
// or 500, breaks a stream off, sends garbage, a body without end, or one that inflates.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Fault } from "./recovery.ts";

export const endpointFaults = ["refuses", "hangs", "says 429", "says 500", "breaks off", "sends garbage"] as const;
export type EndpointFault = (typeof endpointFaults)[number] | "never ends" | "inflates";

export interface Endpoint {
  baseUrl: string;
  /** Null: it behaves. */
  misbehave(how: EndpointFault | null): Promise<void>;
  stop(): Promise<void>;
}

/** What it answers; anything less must never pass for an answer. */
export const wholeAnswer = "This is the whole answer, from its first word to its last.";

const event = (value: object): string => `data: ${JSON.stringify({ id: "c", model: "m", ...value })}\n\n`;
const pieces = [
  ...(wholeAnswer.match(/\S+\s*/g) ?? []).map((content) => event({ choices: [{ index: 0, delta: { content } }] })),
  event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 12, total_tokens: 22 } }),
  "data: [DONE]\n\n",
];

/** 200 MB of zeros behind 200 kB. */
const inflating = gzipSync(Buffer.alloc(200e6));
/** One line of a stream, of 1 GB at most. */
function* endless(): Generator<Buffer> {
  yield Buffer.from("data: ");
  const piece = Buffer.alloc(65_536, "x");
  for (let i = 0; i < 16_384; i++) yield piece;
}

export async function startEndpoint(): Promise<Endpoint> {
  let how: EndpointFault | null = null;
  let server: Server;
  const answer = (response: ServerResponse): void => {
    if (how === "hangs") return;
    if (how === "says 429" || how === "says 500") {
      response.writeHead(how === "says 429" ? 429 : 500, { "content-type": "application/json", "retry-after": "1" });
      response.end(JSON.stringify({ error: { message: how } }));
      return;
    }
    if (how === "inflates") {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" }).end(inflating);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (how === "never ends") {
      Readable.from(endless())
        .on("error", () => undefined)
        .pipe(response);
      return;
    }
    if (how === "sends garbage") response.end('data: {"choices":[{]]]\n\n\u0000\u0001garbage');
    else if (how === "breaks off") response.write(pieces.slice(0, 5).join(""), () => response.destroy());
    else response.end(pieces.join(""));
  };
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server = createServer((request, response) => {
        request.resume().on("end", () => answer(response));
      });
      server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  await listen(0);
  const { port } = server!.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async misbehave(next) {
      const refused = how === "refuses";
      how = next;
      if (next === "refuses" && !refused) await close();
      else if (next !== "refuses" && refused) await listen(port);
      // Those that hang would do so for ever.
      else server.closeAllConnections();
    },
    stop: async () => {
      if (how !== "refuses") await close();
    },
  };
}

const forMs = 5_000;
export const endpointFault = (endpoint: Endpoint, how: EndpointFault): Fault => ({
  name: `the model endpoint ${how}`,
  async run() {
    await endpoint.misbehave(how);
    await sleep(forMs);
    await endpoint.misbehave(null);
    return undefined;
  },
});
