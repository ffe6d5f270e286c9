// An OpenAI-compatible endpoint that a test makes fail: it answers every chat completion, fails
// with a status, or keeps calls until the test answers them.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Upstream {
  readonly baseUrl: string;
  /** How it answers from now on; hold: it keeps calls open until they are answered. */
  behave(how: "healthy" | "hold" | number): void;
  /** Questions that it was asked, in order. */
  readonly asked: string[];
  /** What /metrics says from now on; null: it hangs. */
  report(metrics: string | null): void;
  /** Ends the calls that it keeps. */
  release(how: "healthy" | number): void;
  close(): void;
}

/** `says` in place of its name and the question. */
export async function startUpstream(
  name: string,
  says: (question: string) => string = (question) => `${name}: ${question}`,
): Promise<Upstream> {
  let behaviour: "healthy" | "hold" | number = "healthy";
  let metrics: string | null = "";
  const asked: string[] = [];
  const held: { question: string; response: ServerResponse }[] = [];
  const answer = (response: ServerResponse, question: string, how: "healthy" | number): void => {
    if (how !== "healthy") {
      response.writeHead(how, { "content-type": "application/json" }).end("{}");
      return;
    }
    const message = { role: "assistant", content: says(question) };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const body = JSON.stringify({ id: "x", object: "chat.completion", model: name, choices, usage });
    response.setHeader("content-type", "application/json").end(body);
  };
  const server = createServer((request, response) => {
    if (request.url === "/metrics") {
      if (metrics !== null) response.end(metrics);
      return;
    }
    let body = "";
    request.on("data", (chunk: Buffer) => (body += String(chunk)));
    request.on("end", () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      const question = messages.at(-1)?.content ?? "";
      asked.push(question);
      if (behaviour === "hold") held.push({ question, response });
      else answer(response, question, behaviour);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    report: (text) => void (metrics = text),
    behave: (how) => void (behaviour = how),
    release(how) {
      for (const { question, response } of held.splice(0)) answer(response, question, how);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
