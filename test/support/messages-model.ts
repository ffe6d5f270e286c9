// A model behind an endpoint of Anthropic's Messages API on the loopback, for tests: it thinks and
// calls the tool that it is given, answers its result, repeats other questions, holds some, and
// fails where it is asked to.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { event, message, messageEvents, type Said } from "../../arms/anthropic/events.testing.ts";

type Json = Record<string, unknown>;

export interface MessagesCall extends Json {
  messages: { role: string; content: string | Json[] }[];
  tools?: { name: string }[];
  output_config?: { format?: object };
  stream?: boolean;
}

export interface MessagesModel {
  baseUrl: string;
  /** Bodies of all calls so far, and as they came. */
  received(): readonly { body: MessagesCall; text: string }[];
  /** Questions of calls whose client left. */
  closed(): readonly string[];
  stop(): Promise<void>;
}

export const thought = { type: "thinking", thinking: "A tool knows 😀.", signature: "EqQBCgIYAhIM1g+/==" };

export async function startMessagesModel(): Promise<MessagesModel> {
  const received: { body: MessagesCall; text: string }[] = [];
  const closed: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString();
      const body = JSON.parse(text) as MessagesCall;
      received.push({ body, text });
      const question = questionOf(body);
      response.on("close", () => {
        if (!response.writableEnded) closed.push(question);
      });
      const error = { error: { type: "overloaded_error", message: "Overloaded" } };
      if (question === "fail") {
        response.writeHead(529, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "error", ...error }));
        return;
      }
      const said = answerOf(body, question);
      if (body.stream !== true) {
        response.setHeader("content-type", "application/json").end(JSON.stringify(message(said)));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const events = messageEvents(said);
      const begun = events.split("event: content_block_stop")[0] ?? "";
      if (question.startsWith("held")) response.write(begun);
      else response.end(question === "fail later" ? begun + event("error", error) : events);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    received: () => received,
    closed: () => closed,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const blocksOf = (content: string | Json[]): Json[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;
const textOf = (content: unknown): string =>
  blocksOf(content as string | Json[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join(" ");
const questionOf = ({ messages }: MessagesCall): string => textOf(messages.at(-1)?.content ?? "").trim();

function answerOf({ messages, tools = [], output_config: config }: MessagesCall, question: string): Said {
  const results = blocksOf(messages.at(-1)?.content ?? "").filter(({ type }) => type === "tool_result");
  if (results.length > 0)
    return { content: [{ type: "text", text: `heard ${results.map(({ content }) => textOf(content)).join(", ")}` }] };
  const calls = tools.map(({ name }, index) => ({
    ...{ type: "tool_use", id: `toolu_${index}`, name },
    input: { city: question },
  }));
  if (calls.length > 0) return { content: [thought, ...calls], stop: "tool_use" };
  const text = config?.format === undefined ? question : JSON.stringify({ answer: question });
  return { content: [{ type: "text", text }] };
}
