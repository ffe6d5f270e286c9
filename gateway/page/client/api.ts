// Asks the gateway. An admin key stays in this tab's sessionStorage and goes along as a header:
// never in an address, nor sent by a browser by itself.
import type { LiveBatch } from "../data/types/requests.ts";

const keyName = "precedent.key";

export class Refused extends Error {
  override name = "Refused";
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(message);
  }
  /** Whether a key would help. */
  get needsKey(): boolean {
    return this.code === "missing_api_key" || this.code === "invalid_api_key" || this.code === "admin_key_needed";
  }
}

export function useKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(keyName);
  else sessionStorage.setItem(keyName, key);
}

function headers(): Record<string, string> {
  const key = sessionStorage.getItem(keyName);
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

async function refusal(answer: Response): Promise<Refused> {
  const body = (await answer.json().catch(() => ({}))) as { error?: { message?: string; code?: string } };
  return new Refused(
    body.error?.message ?? `The gateway answered ${answer.status}.`,
    answer.status,
    body.error?.code ?? "",
  );
}

/** Rejects with Refused. */
export function get<T>(
  path: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
  signal?: AbortSignal,
): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return ask(`${path}${text === "" ? "" : `?${text}`}`, { headers: headers(), ...(signal && { signal }) });
}

/** Rejects with Refused. */
export const post = <T>(path: string, body: unknown): Promise<T> =>
  ask(path, {
    method: "POST",
    headers: { ...headers(), "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function ask<T>(path: string, how: RequestInit): Promise<T> {
  const answer = await fetch(`/page/api/${path}`, how);
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()) as T;
}

const againMs = 3_000;

/** Requests as they happen, until the signal is aborted; comes back by itself. */
export async function watch(
  take: (batch: LiveBatch) => void,
  isLive: (live: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const answer = await fetch("/page/api/live", { headers: headers(), signal });
      if (!answer.ok || answer.body === null) throw await refusal(answer);
      isLive(true);
      await readEvents(answer.body, take);
    } catch (error) {
      if (error instanceof Refused && error.status < 429) {
        isLive(false);
        return;
      }
    }
    isLive(false);
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, take: (batch: LiveBatch) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)) as LiveBatch);
  }
}
