// The clients of bench -- batch: plain HTTP to the gateway, as OpenAI's clients send it.
import pLimit from "p-limit";
import type { Answered } from "./figures.ts";

export interface Client {
  /** 64 requests at a time, as many as a gateway sends lines of a batch. */
  live(bodies: readonly object[]): Promise<Answered[]>;
  /** One batch, one line a body. */
  batch(bodies: readonly object[]): Promise<Answered[]>;
  /** Quality in [0, 1]. */
  rate(id: string, quality: number): Promise<void>;
}

interface Batch {
  id: string;
  status: string;
  output_file_id: string | null;
}

interface OutputLine {
  custom_id: string;
  response: { request_id: string };
}

const endpoint = "/v1/chat/completions";
const authorization = "Bearer any";
const post = (body: object): RequestInit => ({
  ...{ method: "POST", body: JSON.stringify(body) },
  headers: { "content-type": "application/json", authorization },
});

export function createClient({ baseUrl, signal }: { baseUrl: string; signal: AbortSignal }): Client {
  // The signal is not given to fetch, which would leave a listener on it for each request.
  const call = async (path: string, init: RequestInit = {}): Promise<string> => {
    signal.throwIfAborted();
    const response = await fetch(`${baseUrl}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
    return text;
  };

  return {
    async live(bodies) {
      const limit = pLimit(64);
      const answers = await Promise.all(
        bodies.map((body, index) =>
          limit(async () => {
            signal.throwIfAborted();
            const response = await fetch(`${baseUrl}/chat/completions`, post(body));
            await response.text();
            const id = response.headers.get("x-precedent-request-id");
            return response.ok && id !== null ? [{ index, id }] : [];
          }),
        ),
      );
      return answers.flat();
    },
    async batch(bodies) {
      const lines = bodies.map((body, index) =>
        JSON.stringify({ custom_id: String(index), method: "POST", url: endpoint, body }),
      );
      const form = new FormData();
      form.set("purpose", "batch");
      form.set("file", new Blob([lines.join("\n")]), "requests.jsonl");
      const uploaded = await call("/files", { method: "POST", body: form, headers: { authorization } });
      const { id: input_file_id } = JSON.parse(uploaded) as { id: string };
      const order = { input_file_id, endpoint, completion_window: "24h" };
      let batch = JSON.parse(await call("/batches", post(order))) as Batch;
      while (!["completed", "failed", "expired", "cancelled"].includes(batch.status)) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        batch = JSON.parse(await call(`/batches/${batch.id}`)) as Batch;
      }
      if (batch.output_file_id === null) throw new Error(`the batch ended as ${batch.status}, without an output file`);
      const output = await call(`/files/${batch.output_file_id}/content`);
      return output
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as OutputLine)
        .map(({ custom_id, response }) => ({ index: Number(custom_id), id: response.request_id }));
    },
    async rate(id, quality) {
      await call("/feedback", post({ request_id: id, kind: "reward", value: quality, source: "system" }));
    },
  };
}
