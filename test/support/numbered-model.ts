// A model behind an OpenAI endpoint on the loopback that says all that it was shown, and which of
// its calls this is: an answer that two have is one that was kept or shared, and what stands in the
// prompt of the wrong one shows.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface NumberedModel {
  baseUrl: string;
  calls(): number;
  stop(): Promise<void>;
}

interface Call {
  messages: { content: string }[];
  stream?: boolean;
}

export async function startNumberedModel(): Promise<NumberedModel> {
  let calls = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { messages, stream } = JSON.parse(Buffer.concat(parts).toString()) as Call;
      const text = `«call ${++calls}» ${messages.map(({ content }) => content).join(" | ")}`;
      answer(response, text, stream === true);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    calls: () => calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(response: ServerResponse, text: string, streams: boolean): void {
  const base = { id: "x", model: "numbered-1" };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  if (!streams) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ...base, choices, usage }));
    return;
  }
  const event = (value: object): string => `data: ${JSON.stringify({ ...base, ...value })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event({ choices: [{ index: 0, delta: { content: text } }] }));
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
  response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
}
