// OpenAI's Files and Batches API on the loopback, and chat completions beside it; and Anthropic's
// Message Batches, which tell nothing of their lines before they end. A batch goes one
// step on with every look at it: validating, in_progress, finalizing, completed; while held it
// stays in_progress. Results come in reverse order. A question decides its end: "refuse ..." is
// status 400, "busy ..." 503, "expire ..." is not called; all others are answered by "batch: ...".
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Status =
  "validating" | "in_progress" | "finalizing" | "completed" | "failed" | "expired" | "cancelling" | "cancelled";

interface Batch {
  id: string;
  createdAt: number;
  input: string;
  metadata: Record<string, string>;
  status: Status;
  output: string | null;
  errors: string | null;
  problem: string | null;
  /** Anthropic's. */
  results: string;
}

export interface BatchProvider {
  baseUrl: string;
  /** Creates a batch of another application at Anthropic's, with so many lines. */
  addForeign(size: number): void;
  /** Ids of the lines of each batch, in the order of creation. */
  submitted(): string[][];
  statuses(): Status[];
  /** Questions of live calls. */
  live(): readonly string[];
  /** Batches stay in progress, until called with false. */
  hold(isHeld: boolean): void;
  /** Batches fail with this code; undefined: no longer. */
  fail(code: string | undefined): void;
  /** The next batch expires: no more lines are answered than those. */
  expireNext(answered: number): void;
  /** The next creation is carried out, and its connection closed without an answer. */
  dropNext(): void;
  /** Each line of results is written as those; undefined: as it is. */
  distort(change: ((line: string) => readonly string[]) | undefined): void;
  /** Deletes the files of requests, or of results, that there are. */
  deleteFiles(of: "input" | "results"): void;
  /** Calls of batches are answered with this status; undefined: no longer. */
  refuse(status: number | undefined): void;
  /** How many were. */
  refused(): number;
  stop(): Promise<void>;
}

interface Line {
  custom_id: string;
  method: string;
  url: string;
  body: { model: string; stream?: boolean; messages: { content: string | { text: string }[] }[] };
}

export async function startBatchProvider(): Promise<BatchProvider> {
  const files = new Map<string, string>();
  const deleted = new Set<string>();
  const batches = new Map<string, Batch>();
  const asked: string[] = [];
  let isHeld = false;
  let isDropped = false;
  let refused: number | undefined;
  let refusals = 0;
  let failing: string | undefined;
  let distorted = (line: string): readonly string[] => [line];
  let answeredNext: number | undefined;
  const fates = new Map<string, { failing: string | undefined; answered: number | undefined }>();
  const linesOf = ({ input }: Batch): Line[] =>
    (files.get(input) ?? "")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  const addFile = (content: string): string => {
    const id = `file-${files.size + 1}`;
    files.set(id, content);
    return id;
  };

  const end = (batch: Batch, status: Status, answered = Infinity): void => {
    const [output, errors]: string[][] = [[], []];
    linesOf(batch).forEach((line, index) => {
      const question = questionOf(line.body);
      const of = { id: `batch_req_${index}`, custom_id: line.custom_id };
      const expired = { code: "batch_expired", message: "This request could not be executed in time." };
      if (index >= answered || question.startsWith("expire"))
        errors!.push(JSON.stringify({ ...of, response: null, error: expired }));
      else if (/^(refuse|busy)/.test(question)) {
        const [code, type] = question.startsWith("busy") ? [503, "server_error"] : [400, "invalid_request_error"];
        const body = { error: { message: `no ${question}`, type, param: null, code: null } };
        errors!.push(JSON.stringify({ ...of, response: { status_code: code, request_id: "r", body }, error: null }));
      } else {
        const body = completion(line.body.model, `batch: ${question}`);
        output!.push(JSON.stringify({ ...of, response: { status_code: 200, request_id: "r", body }, error: null }));
      }
    });
    const results = [...output!, ...errors!].map((text) => messageResult(text, status));
    batch.results = results
      .reverse()
      .map((line) => `${line}\n`)
      .join("");
    const written = (lines: string[]): string | null =>
      lines.length === 0 ? null : addFile(`${lines.reverse().flatMap(distorted).join("\n")}\n`);
    Object.assign(batch, { status, output: written(output!), errors: written(errors!) });
  };
  const step = (batch: Batch): void => {
    const of = fates.get(batch.id);
    switch (batch.status) {
      case "validating": {
        const wrong = linesOf(batch).find((line) => line.method !== "POST" || line.body.stream === true);
        if (wrong !== undefined) Object.assign(batch, { status: "failed", problem: "invalid_line" });
        else if (of?.failing !== undefined) Object.assign(batch, { status: "failed", problem: of.failing });
        else batch.status = "in_progress";
        return;
      }
      case "in_progress":
        if (!isHeld) batch.status = "finalizing";
        return;
      case "finalizing":
        return of?.answered === undefined ? end(batch, "completed") : end(batch, "expired", of.answered);
      case "cancelling":
        return end(batch, "cancelled", 1);
    }
  };
  const objectOf = (batch: Batch) => ({
    ...{ id: batch.id, object: "batch", endpoint: "/v1/chat/completions", completion_window: "24h" },
    ...{ input_file_id: batch.input, status: batch.status, created_at: Math.floor(batch.createdAt / 1_000) },
    ...{ output_file_id: batch.output, error_file_id: batch.errors, metadata: batch.metadata },
    errors:
      batch.problem === null
        ? null
        : { object: "list", data: [{ code: batch.problem, message: "See the code.", line: null, param: null }] },
  });

  const newBatch = (input: string, metadata: Record<string, string>): Batch => {
    const batch: Batch = {
      ...{ id: `batch_${batches.size + 1}`, createdAt: Date.now(), input, results: "" },
      ...{ metadata, status: "validating", output: null, errors: null, problem: null },
    };
    batches.set(batch.id, batch);
    fates.set(batch.id, { failing, answered: answeredNext });
    answeredNext = undefined;
    return batch;
  };
  const messageBatch = (batch: Batch) => ({
    ...{ id: batch.id, type: "message_batch", created_at: new Date(batch.createdAt).toISOString() },
    ...{ request_counts: { processing: linesOf(batch).length, succeeded: 0, errored: 0, canceled: 0, expired: 0 } },
    processing_status: open.includes(batch.status)
      ? "in_progress"
      : batch.status === "cancelling"
        ? "canceling"
        : "ended",
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const url = new URL(request.url ?? "", "http://provider");
    const send = (value: unknown, status = 200): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const missing = (): void => send({ error: { message: "no such object", type: "invalid_request_error" } }, 404);
    const [, , kind, id = "", action] = url.pathname.split("/");
    if (kind === "chat") {
      const sent = JSON.parse(body.toString()) as Line["body"];
      const [model, question] = [sent.model, questionOf(sent)];
      asked.push(question);
      return send(completion(model, `live: ${question}`));
    }
    if (refused !== undefined) refusals++;
    if (refused !== undefined) return send({ error: { message: "refused", type: "error" } }, refused);
    if (kind === "files" && request.method === "POST") {
      const headers = { "content-type": request.headers["content-type"] ?? "" };
      const form = await new Response(body, { headers }).formData();
      const file = form.get("file");
      if (form.get("purpose") !== "batch" || !(file instanceof File)) return send({ error: { message: "form" } }, 400);
      return send({ id: addFile(await file.text()), object: "file", purpose: "batch" });
    }
    if (kind === "files") {
      const content = deleted.has(id) ? undefined : files.get(id);
      return content === undefined ? missing() : void response.writeHead(200).end(content);
    }
    const create = (input: string, metadata: Record<string, string>, shown: (batch: Batch) => object): void => {
      const batch = newBatch(input, metadata);
      if (!isDropped) return send(shown(batch));
      isDropped = false;
      request.socket.destroy();
    };
    if (kind === "messages") {
      if (request.headers["anthropic-version"] === undefined || request.headers["x-api-key"] === undefined)
        return send({ type: "error", error: { type: "invalid_request_error", message: "headers" } }, 400);
      const [, , , , one = "", what] = url.pathname.split("/");
      if (one === "" && request.method === "POST") {
        const { requests } = JSON.parse(body.toString()) as { requests: { custom_id: string; params: object }[] };
        const ids = new Set(requests.map((one) => one.custom_id));
        if (ids.size < requests.length || [...ids].some((one) => !/^[a-zA-Z0-9_-]{1,64}$/.test(one)))
          return send({ type: "error", error: { type: "invalid_request_error", message: "custom_id" } }, 400);
        const lines = requests.map(({ custom_id, params }) => ({ custom_id, method: "POST", body: params }));
        return create(addFile(lines.map((line) => JSON.stringify(line)).join("\n")), {}, messageBatch);
      }
      if (one === "") {
        const newest = [...batches.values()].reverse();
        const after = newest.findIndex((batch) => batch.id === url.searchParams.get("after_id")) + 1;
        const data = newest.slice(after, after + 2);
        data.forEach(step);
        return send({ data: data.map(messageBatch), has_more: after + 2 < newest.length, last_id: data.at(-1)?.id });
      }
      const batch = batches.get(one);
      if (batch === undefined) return missing();
      const lines = batch.results.trimEnd().split("\n");
      if (what === "results") return void response.writeHead(200).end(`${lines.flatMap(distorted).join("\n")}\n`);
      if (what === "cancel") batch.status = "cancelling";
      else step(batch);
      return send(messageBatch(batch));
    }
    if (kind !== "batches") return missing();
    if (id === "" && request.method === "POST") {
      const order = JSON.parse(body.toString()) as { input_file_id: string; metadata?: Record<string, string> };
      if (!files.has(order.input_file_id)) return missing();
      return create(order.input_file_id, order.metadata ?? {}, objectOf);
    }
    if (id === "") {
      const newest = [...batches.values()].reverse();
      const after = newest.findIndex((batch) => batch.id === url.searchParams.get("after")) + 1;
      // Small pages, so that clients must go on.
      const data = newest.slice(after, after + 2).map(objectOf);
      return send({ object: "list", data, has_more: after + 2 < newest.length, last_id: data.at(-1)?.id });
    }
    const batch = batches.get(id);
    if (batch === undefined) return missing();
    if (action === "cancel") {
      if (!open.includes(batch.status))
        return send({ error: { message: "it has ended", type: "invalid_request_error" } }, 409);
      batch.status = "cancelling";
    } else step(batch);
    return send(objectOf(batch));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    addForeign: (size) => {
      const lines = Array.from({ length: size }, (_, i) => ({
        ...{ custom_id: `other-${i}`, method: "POST", body: { model: "m", messages: [{ content: "theirs" }] } },
      }));
      newBatch(addFile(lines.map((line) => JSON.stringify(line)).join("\n")), {});
    },
    submitted: () => [...batches.values()].map((batch) => linesOf(batch).map((line) => line.custom_id)),
    statuses: () => [...batches.values()].map(({ status }) => status),
    live: () => asked,
    hold: (held) => void (isHeld = held),
    fail: (code) => void (failing = code),
    expireNext: (answered) => void (answeredNext = answered),
    distort: (change) => void (distorted = change ?? ((line) => [line])),
    deleteFiles: (of) => {
      for (const { input, output, errors } of batches.values())
        for (const id of of === "input" ? [input] : [output, errors]) if (id !== null) deleted.add(id);
    },
    dropNext: () => void (isDropped = true),
    refused: () => refusals,
    refuse: (status) => void (refused = status),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const open: readonly Status[] = ["validating", "in_progress", "finalizing"];

const questionOf = ({ messages }: Line["body"]): string => {
  const content = messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
};

/** A line of OpenAI's results as Anthropic writes it. */
function messageResult(line: string, status: Status): string {
  type Result = { custom_id: string; response: { status_code: number; body: OpenAiBody } | null };
  type OpenAiBody = { model: string; choices: { message: { content: string } }[]; error?: { message: string } };
  const { custom_id, response } = JSON.parse(line) as Result;
  if (response === null)
    return JSON.stringify({ custom_id, result: { type: status === "cancelled" ? "canceled" : "expired" } });
  const { error, model, choices } = response.body;
  if (error !== undefined) {
    const type = response.status_code === 400 ? "invalid_request_error" : "overloaded_error";
    return JSON.stringify({
      custom_id,
      result: { type: "errored", error: { type: "error", error: { type, message: error.message } } },
    });
  }
  const message = {
    ...{ id: "msg_1", type: "message", role: "assistant", model, stop_reason: "end_turn", stop_sequence: null },
    ...{
      content: [{ type: "text", text: choices[0]?.message.content }],
      usage: { input_tokens: 1_000, output_tokens: 100 },
    },
  };
  return JSON.stringify({ custom_id, result: { type: "succeeded", message } });
}

const completion = (model: string, content: string) => ({
  ...{ id: "c", object: "chat.completion", created: 0, model },
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
});
