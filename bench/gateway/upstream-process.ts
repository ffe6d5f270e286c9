// The upstream of the gateway benchmark, a process of its own: an OpenAI-compatible endpoint that
// answers after a fixed time. It counts calls and distinct questions by the first part of the path,
// which names the system that calls.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { completion, firstTokenMs, streamed } from "./model.ts";

interface Body {
  messages: { content: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

const seen = new Map<string, { calls: number; questions: Set<string> }>();

function answer(response: ServerResponse, { stream, stream_options }: Body): void {
  if (stream !== true) {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(completion) };
    response.writeHead(200, headers).end(completion);
    return;
  }
  const { first, rest } = streamed(stream_options?.include_usage === true);
  response.writeHead(200, { "content-type": "text/event-stream" }).write(first);
  // Behind the first token, in a write of its own, as a model's next tokens would come.
  setImmediate(() => response.end(rest));
}

function call(system: string, request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Body;
    const counted = seen.get(system) ?? { calls: 0, questions: new Set() };
    seen.set(system, counted);
    counted.calls += 1;
    counted.questions.add(JSON.stringify(body.messages.at(-1)?.content));
    setTimeout(() => answer(response, body), firstTokenMs);
  });
}

const server = createServer((request, response) => {
  const [, system = "", ...path] = (request.url ?? "").split("/");
  if (request.method === "POST" && path.join("/") === "v1/chat/completions") call(system, request, response);
  else if (request.url === "/calls") {
    const counts = [...seen].map(([name, { calls, questions }]) => [name, { calls, questions: questions.size }]);
    response.end(JSON.stringify(Object.fromEntries(counts)));
  } else response.writeHead(404).end();
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stderr.write(`${JSON.stringify({ msg: "running", url: `http://127.0.0.1:${port}` })}\n`);
});
process.on("SIGTERM", () => {
  server.closeAllConnections();
  server.close();
});
