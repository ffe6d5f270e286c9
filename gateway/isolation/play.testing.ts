// Three tenants at one gateway, a step at a time, each step a number: who does it, what, and with
// what. Beside the steps it writes down what each of them sees, with its ids by
// the order in which it got them, so that two runs can be compared.
import { documentKey } from "../../connections/documents/port.ts";
import { keyOf, rotated } from "../keys/grants.ts";
import { requestIdFor } from "../idempotency.ts";
import { newKey } from "../keys/key.ts";
import { markOf } from "./stages.testing.ts";
import { createWorld, type World } from "./world.testing.ts";

/** Names that could be confused when they are put together. */
export const tenants = ["acme", "acme/shell", 'acme","k0'];
const questions = ["list files", "who am I", "sum 1 and 1"];
/** Limits of some keys; a step is a second. */
const limited = { requestsPerMinute: 4, tokensPerMinute: 60 };
const guides = ["guide", "shell/guide"];

const kinds = {
  ...{ ask: 16, plan: 18, answer: 18, say: 4, read: 6, cancel: 4, feedback: 6, byToken: 3, leave: 3 },
  ...{ embed: 2, models: 1, page: 3, admin: 1, create: 1, rotate: 1, revoke: 1, old: 1, document: 3 },
};
type Kind = keyof typeof kinds;
const drawn = Object.entries(kinds).flatMap(([kind, weight]) => Array<Kind>(weight).fill(kind as Kind));

export interface Step {
  who: number;
  kind: Kind;
  pick(count: number): number;
}

/** Every number is a step. */
function stepOf(number: number): Step {
  const who = number % tenants.length;
  const rest = Math.floor(number / tenants.length);
  let choices = Math.floor(rest / drawn.length);
  const pick = (count: number): number => {
    const chosen = choices % count;
    choices = Math.floor(choices / count);
    return chosen;
  };
  return { who, kind: drawn[rest % drawn.length] ?? "plan", pick };
}
export const mostStep = tenants.length * drawn.length * 2 ** 20;

interface Open {
  /** null: it was not produced yet. */
  id: string | null;
  ended: boolean;
  /** Name of its connection. */
  name: string;
  left: boolean;
}

interface Tenant {
  keys: string[];
  /** Keys that are refused. */
  old: string[];
  ids: string[];
  /** Newest first. */
  tokens: { text: string; id: string | null }[];
  open: Open[];
  seen: string[];
}

export interface Played {
  /** By tenant. */
  seen: readonly (readonly string[])[];
  statuses: ReadonlyMap<string, number>;
  figures: World["stages"]["figures"];
  failures: readonly string[];
}

const idPattern = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|idem-[0-9a-f]{32}/g;
const start = 1_700_000_000_000;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const mostTurns = 2_000;

/**
 * Plays the steps of the tenants in `only`. A step happens at the same time whether or not the
 * others are played.
 */
export async function play(
  numbers: readonly number[],
  only: readonly number[] = tenants.map((_, who) => who),
): Promise<Played> {
  let now = start;
  const world = createWorld(
    () => now,
    ({ metadata }) => tenants[Number(metadata["asker"])] ?? "",
  );
  const { server, stages, documents, keys, waiting, connectionLimit, produced } = world;
  const statuses = new Map<string, number>();
  const makeKey = (grants: Omit<Parameters<typeof keyOf>[0], "label">): string => {
    const { text, ...made } = newKey();
    keys.apply(made.id, keyOf({ ...grants, label: "" }, made, now));
    return text;
  };
  makeKey({ admin: true });
  const all = tenants.map((name): Tenant => ({
    ...{ keys: [makeKey({ tenant: name })], old: [], ids: [], tokens: [], open: [], seen: [] },
  }));
  let connections = 0;

  /** Throws where it is not all their own. */
  function see(who: number, what: string, status: number, text: string): void {
    const own = all[who];
    if (own === undefined) return;
    for (const [mark] of text.matchAll(/«\d+»/g))
      if (mark !== markOf(who)) throw new Error(`${tenants[who]} sees ${mark} in the answer to ${what}: ${text}`);
    statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1);
    const named = text
      .replace(/pft-[\w-]+\.[\w-]+/g, "a token")
      .replace(/"ms":[\d.e-]+/g, '"ms":0')
      .replace(idPattern, (id) => {
        const at = own.ids.indexOf(id);
        return at < 0 ? "none of its own" : `#${at}`;
      });
    own.seen.push(`${now - start} ${what} ${status} ${named}`);
  }

  interface Sent {
    method?: "GET" | "POST";
    url: string;
    body?: object;
    key?: string | undefined;
    headers?: Record<string, string>;
  }
  async function send(who: number, what: string, { method = "GET", url, body, key, headers }: Sent) {
    const answer = await server.inject({
      ...{ method, url, headers: { host: "gateway", authorization: `Bearer ${key ?? ""}`, ...headers } },
      ...(body === undefined ? {} : { payload: body }),
    });
    const { date: _date, "content-length": _length, ...rest } = answer.headers;
    see(who, what, answer.statusCode, `${JSON.stringify(rest)} ${answer.payload}`);
    return answer;
  }
  async function until(what: string, holds: () => boolean): Promise<void> {
    for (let turns = 0; !holds(); turns++) {
      if (turns > mostTurns) throw new Error(`nothing comes of it: ${what}`);
      await turn();
    }
  }
  /** Those that are answered by now have read it. */
  const delivered = (): Promise<void> =>
    until("an answer that was sent", () =>
      all.every(({ open }) => open.every(({ id, ended }) => ended || id === null || waiting.has(0, id))),
    );
  /** A request id of this tenant or of another one; where that has none, an unknown id. */
  const anId = (who: number, { pick }: Step): string => {
    const whose = pick(3);
    const { ids = [] } = all[(who + whose) % tenants.length] ?? {};
    return ids.length === 0 ? requestIdFor("", undefined) : (ids[ids.length - 1 - pick(Math.min(8, ids.length))] ?? "");
  };

  function leave(one: Open | undefined): void {
    if (one === undefined) return;
    one.left = true;
    world.close(one.name);
  }

  async function ask(who: number, own: Tenant, key: string | undefined, { pick }: Step): Promise<void> {
    const idempotency = [undefined, undefined, "k0", 'k0","k1'][pick(4)];
    const question = questions[pick(questions.length)] ?? "";
    const stream = pick(3) === 0;
    const privacy = [{}, {}, { fresh: true }, { cache: false }, { share: false }][pick(5)];
    const named = [[], [], [guides[0]], [guides[1]]][pick(4)];
    const responses = pick(5) === 0;
    const domain = [null, "shell/default"][pick(2)];
    const asked = responses
      ? { input: question }
      : { messages: [{ role: "user", content: question }], precedent: { domain, documents: named, privacy } };
    const one: Open = { id: null, ended: false, name: String(connections++), left: false };
    const before = [connectionLimit.open(), produced.length] as const;
    own.open.push(one);
    const known = (id: string | null): void => {
      one.id = id;
      if (id !== null && !own.ids.includes(id)) own.ids.push(id);
    };
    if (idempotency !== undefined) known(requestIdFor(tenants[who] ?? "", idempotency));
    const sent = send(who, "ask", {
      ...{ method: "POST", url: responses ? "/v1/responses" : "/v1/chat/completions", key },
      body: { model: "auto", ...asked, stream, metadata: { asker: String(who) } },
      headers: { "x-connection": one.name, ...(idempotency === undefined ? {} : { "idempotency-key": idempotency }) },
    }).then(
      ({ headers }) => {
        const token = headers["x-precedent-feedback-token"];
        if (typeof token === "string") own.tokens.unshift({ text: token, id: one.id });
      },
      (error: unknown) => {
        if (!one.left) throw error;
      },
    );
    void sent.finally(() => {
      one.ended = true;
      own.open = own.open.filter((other) => other !== one);
    });
    await until("a request", () => one.ended || connectionLimit.open() > before[0]);
    if (one.ended) return sent;
    if (idempotency === undefined) known(produced[before[1]] ?? null);
    sent.catch((error: unknown) => void world.failures.push(String(error)));
  }

  async function change(who: number, own: Tenant, kind: "create" | "rotate" | "revoke", limits: object): Promise<void> {
    const [first] = own.keys;
    const valid = first === undefined ? null : keys.find(first);
    if (kind === "create" || first === undefined || valid === null) {
      own.keys.push(makeKey({ tenant: tenants[who] ?? "", ...limits }));
      return;
    }
    own.keys.shift();
    own.old.push(first);
    if (kind === "revoke") keys.apply(valid.key.id, { ...valid.key, revokedAt: now });
    else {
      const { text, ...made } = newKey();
      for (const next of rotated(valid.key, made, { now })) keys.apply(next.id, next);
      own.keys.push(text);
    }
    await send(who, "old", { url: "/v1/models", key: first });
  }

  async function step(one: Step): Promise<void> {
    const { who, kind, pick } = one;
    const own = all[who];
    if (own === undefined) return;
    const key = own.keys.at(-1);
    const reported = { kind: "thumbs", value: pick(2) === 0 ? 1 : -1, comment: markOf(who) };
    const post = { method: "POST" as const, key };
    if (kind === "ask") await ask(who, own, key, one);
    else if (kind === "plan") await stages.plan(who);
    else if (kind === "answer") await stages.answer(who, pick(64));
    else if (kind === "say") stages.say(who, pick(64));
    else if (kind === "read") await send(who, kind, { url: `/v1/requests/${anId(who, one)}`, key });
    else if (kind === "cancel") await send(who, kind, { ...post, url: `/v1/requests/${anId(who, one)}/cancel` });
    else if (kind === "feedback")
      await send(who, kind, { ...post, url: "/v1/feedback", body: { ...reported, request_id: anId(who, one) } });
    else if (kind === "byToken") {
      const token = own.tokens[pick(2)] ?? { text: "pft-none.none", id: null };
      const id = pick(2) === 0 ? token.id : null;
      const body = { ...reported, request_id: id ?? anId(who, one) };
      await send(who, kind, { method: "POST", url: "/v1/feedback", key: token.text, body });
    } else if (kind === "leave") leave(own.open[pick(8)]);
    else if (kind === "embed")
      await send(who, kind, { ...post, url: "/v1/embeddings", body: { model: "mini", input: [markOf(who)] } });
    else if (kind === "models") await send(who, kind, { url: "/v1/models", key });
    else if (kind === "page") {
      const url = ["requests", `request?id=${anId(who, one)}&tenant=acme`, "examples"][pick(3)];
      await send(who, kind, { url: `/page/api/${url}`, key });
    } else if (kind === "admin")
      await send(who, kind, { url: `/v1/admin/tenants/acme/requests/${anId(who, one)}`, key });
    else if (kind === "old") await send(who, kind, { url: "/v1/models", key: own.old[0] ?? "prk-none" });
    else if (kind === "document") {
      const [tenant = "", id = ""] = [tenants[who], guides[pick(2)]];
      const value = pick(4) === 0 ? null : { tenant, id, title: null, pieces: [`${markOf(who)} ${pick(3)}`] };
      await documents.apply([{ key: documentKey(tenant, id), value }]);
    } else await change(who, own, kind, [{}, limited][pick(2)] ?? {});
    await turn();
    await delivered();
  }

  try {
    for (const [index, number] of numbers.entries()) {
      now = start + 1_000 * index;
      const one = stepOf(number);
      if (only.includes(one.who)) await step(one);
    }
  } finally {
    stages.stop();
    for (const { open } of all) open.forEach(leave);
    await until("the end", () => connectionLimit.open() === 0);
    await server.close();
  }
  return { seen: all.map(({ seen }) => seen), statuses, figures: stages.figures, failures: world.failures };
}
