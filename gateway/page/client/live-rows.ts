// What the stream of decisions and answers adds to the list of requests, until the tables have it.
import type { LiveEvent, RequestRow } from "../data/types/requests.ts";

const mostShown = 200;
/** Live rows that the tables still lack after this time are dropped. */
const provisionalMs = 30_000;

export const keyOf = ({ tenant, id }: { tenant: string; id: string }): string => JSON.stringify([tenant, id]);

const unknown: Omit<RequestRow, "id" | "tenant" | "domain" | "createdAt"> = {
  ...{
    question: "",
    user: "",
    session: "",
    tags: [],
    answer: "",
    state: "open",
    arm: null,
    source: null,
    probability: null,
    score: null,
    examples: 0,
  },
  ...{ cost: 0, promptTokens: 0, completionTokens: 0 },
  ...{ firstTokenMs: null, totalMs: null, reward: null, errorCode: null },
};

/** Newest rows of the stream, by request. */
export function merged(before: ReadonlyMap<string, RequestRow>, events: readonly LiveEvent[]): Map<string, RequestRow> {
  const rows = new Map(before);
  for (const event of events) {
    const { id, tenant, at, domain = "", arm, source, examples } = event;
    const known = rows.get(keyOf(event)) ?? { ...unknown, id, tenant, domain, createdAt: at };
    rows.delete(keyOf(event));
    rows.set(keyOf(event), {
      ...known,
      ...{ arm, source, examples },
      domain: known.domain === "" ? domain : known.domain,
      probability: event.probability ?? known.probability,
      state: event.state ?? known.state,
      cost: event.cost ?? known.cost,
      totalMs: event.totalMs ?? known.totalMs,
      firstTokenMs: event.firstTokenMs ?? known.firstTokenMs,
      errorCode: event.errorCode ?? known.errorCode,
    });
  }
  const old = Date.now() - provisionalMs;
  for (const [key, { createdAt }] of rows) if (rows.size > mostShown || createdAt < old) rows.delete(key);
  return rows;
}

/** Newest first with rows of the stream; else as they were read, which may be by cost. */
export function shownRows(read: readonly RequestRow[], fresh: ReadonlyMap<string, RequestRow>): RequestRow[] {
  if (fresh.size === 0) return [...read];
  const known = new Set(read.map(keyOf));
  const more = [...fresh].flatMap(([key, row]) => (known.has(key) ? [] : [row]));
  const rows = read.map((row) => {
    const newer = row.state === "open" ? fresh.get(keyOf(row)) : undefined;
    return newer === undefined || newer.state === "open"
      ? row
      : { ...newer, question: row.question, createdAt: row.createdAt };
  });
  return [...more, ...rows].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, mostShown);
}
