// A model behind an OpenAI endpoint on the loopback that knows tools, formats, images and log
// probabilities, for tests: it calls the tool that it is given, answers its result, and says what
// else it was asked. It streams calls in pieces, as OpenAI does; asked to wait, it holds back the
// last of them until it is let go on.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ToolsModel {
  baseUrl: string;
  /** Bodies of all calls so far. */
  received(): readonly Call[];
  /** Ends the streams that wait. */
  goOn(): void;
  stop(): Promise<void>;
}

export interface Call extends Record<string, unknown> {
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string } }[];
  response_format?: { type: string };
  logprobs?: boolean;
  stream?: boolean;
}

const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const base = { id: "x", object: "chat.completion", created: 1, model: "tools-1" };

export async function startToolsModel(): Promise<ToolsModel> {
  const received: Call[] = [];
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const call = JSON.parse(Buffer.concat(parts).toString()) as Call;
      received.push(call);
      const { message, logprobs } = answerOf(call);
      const finish_reason = "tool_calls" in message ? "tool_calls" : "stop";
      if (call.stream !== true) {
        const choices = [{ index: 0, message: { role: "assistant", ...message }, logprobs, finish_reason }];
        response.setHeader("content-type", "application/json").end(JSON.stringify({ ...base, choices, usage }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const event = (value: object): void => void response.write(`data: ${JSON.stringify({ ...base, ...value })}\n\n`);
      const deltas = deltasOf(message);
      const say = (delta?: object): void => event({ choices: [{ index: 0, delta, logprobs, finish_reason: null }] });
      for (const delta of deltas.slice(0, -1)) say(delta);
      const end = (): void => {
        say(deltas.at(-1));
        event({ choices: [{ index: 0, delta: {}, finish_reason }] });
        event({ choices: [], usage });
        response.end("data: [DONE]\n\n");
      };
      if (String(call.messages.at(-1)?.content).startsWith("wait")) held.push(end);
      else end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    received: () => received,
    goOn() {
      for (const end of held.splice(0)) end();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Message {
  content: string | null;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}

function answerOf({ messages, tools, response_format, logprobs }: Call): { message: Message; logprobs: unknown } {
  const last = messages.at(-1);
  const reported = typeof last?.content === "string" ? last.content : JSON.stringify(last?.content ?? "");
  if (tools !== undefined && last?.role === "user") {
    const calls = tools.map(({ function: { name } }, i) => ({
      ...{ id: `call_${i}`, type: "function" },
      function: { name, arguments: JSON.stringify({ city: reported }) },
    }));
    return { message: { content: null, tool_calls: calls }, logprobs: null };
  }
  const content = response_format === undefined ? `heard ${reported}` : JSON.stringify({ answer: reported });
  const tokens = { content: [{ token: content, logprob: -0.5, bytes: null, top_logprobs: [] }], refusal: null };
  return { message: { content }, logprobs: logprobs === true ? tokens : null };
}

function deltasOf({ content, tool_calls = [] }: Message): object[] {
  const role = { role: "assistant", content: content === null ? null : "" };
  if (content !== null) return [role, { content }];
  const begun = tool_calls.map(({ function: { name }, ...call }, index) => ({
    tool_calls: [{ index, ...call, function: { name, arguments: "" } }],
  }));
  const pieces = tool_calls.flatMap(({ function: { arguments: all } }, index) =>
    (all.match(/.{1,4}/g) ?? []).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  );
  return [role, ...begun, ...pieces];
}
