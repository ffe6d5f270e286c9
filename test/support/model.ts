// A model behind an OpenAI endpoint on the loopback, for tests. It answers with the last message,
// word by word where it streams. The message can make it fail, hang (at once or after some words),
// break off, take its time, wait for release, break off once and give another, or the same, answer
// on the retry, report a usage ("usage {...}"), or number its answers ("counted ...").
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface TestModel {
  baseUrl: string;
  /** Bodies of all calls so far. */
  received(): readonly Record<string, unknown>[];
  /** Headers of the last call with that question. */
  headers(question: string): IncomingHttpHeaders | undefined;
  /** Questions of calls whose connection was closed before they were answered. */
  closed(): readonly string[];
  /** Lets streams of "held ..." go on behind their second word. */
  release(): void;
  stop(): Promise<void>;
}

export async function startModel(): Promise<TestModel> {
  const received: Record<string, unknown>[] = [];
  const closed: string[] = [];
  const headers = new Map<string, IncomingHttpHeaders>();
  const counts = new Map<string, number>();
  const calls = (question: string): number => {
    counts.set(question, (counts.get(question) ?? 0) + 1);
    return counts.get(question) ?? 0;
  };
  const released = new EventEmitter().setMaxListeners(0);
  let isReleased = false;
  const whenReleased = async (): Promise<void> => {
    if (!isReleased) await once(released, "release");
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Call;
      received.push({ ...body });
      const question = body.messages.at(-1)?.content ?? "";
      headers.set(question, request.headers);
      response.once("close", () => {
        if (!response.writableEnded) closed.push(question);
      });
      if (question === "fail") response.writeHead(500).end();
      else if (!/^hang\b/.test(question))
        void answer(response, question, { stream: body.stream ?? false, call: calls(question), whenReleased });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    received: () => received,
    headers: (question) => headers.get(question),
    closed: () => closed,
    release() {
      isReleased = true;
      released.emit("release");
    },
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

interface Manner {
  stream: boolean;
  /** How often it was asked this, this time included. */
  call: number;
  whenReleased(): Promise<void>;
}

async function answer(
  response: ServerResponse,
  question: string,
  { stream, call, whenReleased }: Manner,
): Promise<void> {
  const [how] = question.split(" ");
  const text = how === "counted" ? `answer ${call}: ${question}` : question;
  const usual = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const usage = text.startsWith("usage ") ? (JSON.parse(text.slice("usage ".length)) as object) : usual;
  const base = { id: "x", model: "mock-1" };
  if (text.startsWith("takes a while")) await sleep(1_500);
  if (!stream) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ...base, choices, usage }));
    return;
  }
  const event = (value: object): string => `data: ${JSON.stringify({ ...base, ...value })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  const breaks = how === "break" || ((how === "changes" || how === "resumes") && call === 1);
  const reported = how === "changes" && call > 1 ? `otherwise ${text}` : text;
  const words = reported.match(/\S+\s*/g) ?? [];
  for (const [index, content] of words.entries()) {
    response.write(event({ choices: [{ index: 0, delta: { content } }] }));
    if (how === "slowly") await sleep(4);
    if (how === "counted") await sleep(150);
    if (how === "held" && index === 1) await whenReleased();
    // What was said is all that it will ever say.
    if (how === "stall" && index === 2) return;
    if (!breaks || index < 2) continue;
    // What was said is on its way before the connection ends.
    await sleep(200);
    response.destroy();
    return;
  }
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
  response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
}
