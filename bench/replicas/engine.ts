// A mock engine over real HTTP: slots with a queue, and a block cache as vLLM's. A call takes what
// its tokens that are not cached take, and then a fixed time.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createBlockCache } from "../prefix/block-cache.ts";

export interface EngineSettings {
  slots: number;
  /** Blocks of its cache. */
  capacity: number;
  msPerToken: number;
  decodeMs: number;
}

export interface Engine {
  readonly url: string;
  /** Tokens of the prompts that it took, and those of them that were cached. */
  readonly tokens: { prompt: number; cached: number };
  /** Calls take so many times as long. */
  slow(factor: number): void;
  /** Its metrics hang from now on. */
  stopMetrics(): void;
  kill(): void;
}

export async function startEngine({ slots, capacity, msPerToken, decodeMs }: EngineSettings): Promise<Engine> {
  const cache = createBlockCache(capacity);
  const tokens = { prompt: 0, cached: 0 };
  const waiting: (() => void)[] = [];
  let [running, factor, reports] = [0, 1, true];

  const answer = (response: ServerResponse, prompt: Int32Array): void => {
    running++;
    const cached = cache.ask(prompt);
    tokens.prompt += prompt.length;
    tokens.cached += cached;
    const ms = factor * (decodeMs + msPerToken * (prompt.length - cached));
    setTimeout(() => {
      running--;
      const usage = {
        prompt_tokens: prompt.length,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: cached },
      };
      const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
      response.setHeader("content-type", "application/json").end(JSON.stringify({ model: "mock", choices, usage }));
      waiting.shift()?.();
    }, ms);
  };

  const server = createServer((request, response) => {
    if (request.url === "/metrics") {
      if (reports) response.end(`vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting.length}\n`);
      return;
    }
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const prompt = tokensOf(Buffer.concat(parts).toString());
      if (running < slots) answer(response, prompt);
      else waiting.push(() => answer(response, prompt));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    tokens,
    slow: (times) => void (factor = times),
    stopMetrics: () => void (reports = false),
    kill() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A token a word; one number for each word that there is. */
function tokensOf(body: string): Int32Array {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
  const words = messages.flatMap(({ role, content }) => [role, ...content.split(" ")]);
  return Int32Array.from(words, (word) => known.get(word) ?? (known.set(word, known.size), known.size - 1));
}
const known = new Map<string, number>();
