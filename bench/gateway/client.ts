// The client of the gateway benchmark: a closed loop of chat completions over kept connections. An
// answer that is not the model's fails the run: refusals would be quick.
import { Agent, request as send, type IncomingMessage } from "node:http";
import { answer, createStreamReader, question, textOf } from "./model.ts";

export interface Target {
  /** Requests go to POST {baseUrl}/chat/completions. */
  baseUrl: string;
  model: string;
  headers?: Readonly<Record<string, string>>;
}

export interface Load {
  inFlight: number;
  seconds: number;
  stream: boolean;
}

export interface Answers {
  seconds: number;
  /** Until the whole answer was there, in ms. */
  latencies: number[];
  /** Until the first piece of its text. */
  firstTokens: number[];
}

/** next: the number of the next question; none is asked twice. */
export async function runLoad(
  { baseUrl, model, headers }: Target,
  { inFlight, seconds, stream }: Load,
  { run, next, signal }: { run: string; next: () => number; signal: AbortSignal },
): Promise<Answers> {
  const url = new URL(`${baseUrl}/chat/completions`);
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const answers: Answers = { seconds: 0, latencies: [], firstTokens: [] };

  async function one(): Promise<void> {
    const messages = [{ role: "user", content: question(run, next()) }];
    const body = Buffer.from(JSON.stringify({ model, messages, ...(stream ? { stream: true } : {}) }));
    const began = performance.now();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const all = { "content-type": "application/json", "content-length": body.length, ...headers };
      send(url, { method: "POST", agent, headers: all }, resolve).on("error", reject).end(body);
    });
    const { text, firstAt } = await (stream && response.statusCode === 200 ? streamOf(response) : wholeOf(response));
    const end = performance.now();
    if (response.statusCode !== 200 || text !== answer)
      throw new Error(`${url.href} answered ${response.statusCode}, not what the model said: ${text.slice(0, 500)}`);
    answers.latencies.push(end - began);
    answers.firstTokens.push(firstAt - began);
  }

  const began = performance.now();
  let until = began + 1_000 * seconds;
  const stop = (): void => {
    until = 0;
    agent.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        do await one();
        while (performance.now() < until);
      }),
    );
    signal.throwIfAborted();
    // To the last answer: a slow system has most of its work still under way at the end.
    answers.seconds = (performance.now() - began) / 1_000;
    return answers;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

interface Text {
  text: string;
  firstAt: number;
}

async function wholeOf(response: IncomingMessage): Promise<Text> {
  let body = "";
  response.setEncoding("utf8");
  for await (const piece of response) body += String(piece);
  const text = response.statusCode === 200 ? textOf(body) : undefined;
  return { text: text ?? body, firstAt: performance.now() };
}

async function streamOf(response: IncomingMessage): Promise<Text> {
  const reader = createStreamReader();
  let firstAt: number | undefined;
  response.setEncoding("utf8");
  for await (const piece of response) {
    reader.add(String(piece));
    if (reader.text() !== "") firstAt ??= performance.now();
  }
  if (firstAt === undefined || !reader.done()) throw new Error(`a stream without its end: "${reader.text()}"`);
  return { text: reader.text(), firstAt };
}
