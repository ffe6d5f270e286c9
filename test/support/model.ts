// A model behind an OpenAI endpoint on the loopback, for tests: it answers with the last message,
// word by word where it streams; told to by the message it fails or hangs.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestModel {
  baseUrl: string;
  /** Bodies of all calls so far. */
  received(): readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

export async function startModel(): Promise<TestModel> {
  const received: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Call;
      received.push({ ...body });
      const question = body.messages.at(-1)?.content ?? "";
      if (question === "fail") response.writeHead(500).end();
      else if (question !== "hang") answer(response, question, body.stream ?? false);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    received: () => received,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Call {
  messages: { content: string }[];
  stream?: boolean;
}

function answer(response: ServerResponse, text: string, stream: boolean): void {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const base = { id: "x", model: "mock-1" };
  if (!stream) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ...base, choices, usage }));
    return;
  }
  const event = (value: object): string => `data: ${JSON.stringify({ ...base, ...value })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const content of text.match(/\S+\s*/g) ?? [])
    response.write(event({ choices: [{ index: 0, delta: { content } }] }));
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
  response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
}
