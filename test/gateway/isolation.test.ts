// Nothing of a tenant reaches another on the real stack: three tenants, whose names could be
// confused when they are put together, ask the same questions with the same idempotency keys and
// the same names of documents, read, judge and cancel each other's requests, and look at the page,
// many at a time, in an order that a seed draws. The model says what it was shown and which of its
// calls it was. In memory this is played a million times over (gateway/isolation).
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { stageNames } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { startNumberedModel, type NumberedModel } from "../support/numbered-model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const tenants = ["acme", "acme/shell", "acme-k0"];
const markOf = (who: number): string => `«tenant ${who}»`;
const questions = ["list files", "who am I", "sum 1 and 1"];
const guides = ["guide", "shell-guide"];

/** Tables of what was asked and said: later passes of curate add to others. */
const kept = new Set(["requests", "decisions", "responses", "feedback"]);

const steps = Number(process.env.PRECEDENT_STEPS ?? 800);
const seed = Number(process.env.PRECEDENT_SEED ?? 16);
const atOnce = 16;

const kinds = { ask: 40, read: 20, feedback: 12, byToken: 6, cancel: 8, embed: 2, models: 2, page: 6, admin: 4 };
type Kind = keyof typeof kinds;
const drawn = Object.entries(kinds).flatMap(([kind, weight]) => Array<Kind>(weight).fill(kind as Kind));

let folder: string;
let model: NumberedModel;
let system: TestSystem;
let baseURL: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-isolation-"));
  model = await startNumberedModel();
  const arm = { type: "openai", baseUrl: model.baseUrl, model: "numbered-1", retries: 0, cost: 1, concurrency: 64 };
  system = await startSystem(
    {
      arms: [
        { ...arm, name: "inline" },
        { ...arm, name: "queued", dispatch: "queued" },
      ],
      cache: { enabled: true },
      gateway: { feedbackSecret: "the secret of this test's deployment" },
    },
    { stages: stageNames.filter((name) => name !== "learn") },
  );
  baseURL = system.stages.baseUrl ?? "";
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(system.config));
}, 240_000);
afterAll(async () => {
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

async function command(...argv: string[]): Promise<string> {
  const { code, out, note } = await runCommand(folder, argv);
  expect(code, note).toBe(0);
  return out.trim();
}

/** A key, a document of each name and an example, all with the tenant's mark. */
async function enter(name: string, who: number): Promise<string> {
  const key = await command("keys", "create", "--tenant", name);
  for (const guide of guides) {
    const file = join(folder, `${guide}-${who}.txt`);
    await writeFile(file, `${markOf(who)} in ${guide}`);
    await command("documents", "put", file, "--tenant", name, "--id", guide);
  }
  const file = join(folder, `pairs-${who}.jsonl`);
  const pairs = questions.map((request) => ({ request, response: `${markOf(who)} ${request}` }));
  await writeFile(file, pairs.map((pair) => JSON.stringify(pair)).join("\n"));
  await command("examples", "import", file, "--tenant", name);
  return key;
}

interface Tenant {
  key: string;
  /** Newest last. */
  ids: string[];
  tokens: { token: string; id: string }[];
}
const all: Tenant[] = [];

test(`${steps} steps of ${tenants.length} tenants: nothing crosses`, { timeout: 600_000 }, async () => {
  const random = splitmix64(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  for (const [who, name] of tenants.entries()) all.push({ key: await enter(name, who), ids: [], tokens: [] });
  const statuses = new Map<string, number>();
  /** Whose each call of the model was. */
  const owners = new Map<string, number>();

  function see(who: number, what: string, status: number, text: string): void {
    for (const [mark] of text.matchAll(/«tenant \d+»/g))
      if (mark !== markOf(who)) throw new Error(`${tenants[who]} sees ${mark} in the answer to ${what}: ${text}`);
    for (const [call] of text.matchAll(/«call \d+»/g)) {
      const owner = owners.get(call) ?? who;
      if (owner !== who) throw new Error(`${tenants[who]} and ${tenants[owner]} see ${call} (${what}): ${text}`);
      owners.set(call, who);
    }
    statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1);
  }
  interface Sent {
    method?: "GET" | "POST";
    path: string;
    body?: object;
    key: string;
    headers?: Record<string, string>;
  }
  async function send(who: number, what: string, { method = "GET", path, body, key, headers }: Sent) {
    const answered = await fetch(new URL(path, baseURL), {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answered.text();
    see(who, what, answered.status, `${JSON.stringify([...answered.headers])} ${text}`);
    return { status: answered.status, headers: answered.headers, text };
  }
  /** One of theirs, or one of another's. */
  function anId(who: number): { id: string; own: boolean } {
    const whose = (who + pick(tenants.length)) % tenants.length;
    const { ids } = all[whose]!;
    return { id: ids[ids.length - 1 - pick(Math.min(8, ids.length))] ?? "none", own: whose === who };
  }

  async function ask(who: number, { key, ids, tokens }: Tenant): Promise<void> {
    const [idempotency, privacy] = [
      [undefined, undefined, "k0", `k${pick(40)}`][pick(4)],
      [{}, {}, { fresh: true }, { cache: false }, { share: false }][pick(5)],
    ];
    const content = questions[pick(questions.length)]!;
    const documents = [[], [], [guides[0]], [guides[1]]][pick(4)];
    const body = { model: "auto", messages: [{ role: "user", content }], stream: pick(3) === 0, temperature: 0 };
    const { headers } = await send(who, "ask", {
      ...{ method: "POST", path: "/v1/chat/completions", key, body: { ...body, precedent: { documents, privacy } } },
      headers: idempotency === undefined ? {} : { "idempotency-key": idempotency },
    });
    const [id, token] = [headers.get("x-precedent-request-id"), headers.get("x-precedent-feedback-token")];
    if (id !== null) ids.push(id);
    if (id !== null && token !== null) tokens.push({ token, id });
  }

  async function step(): Promise<void> {
    const who = pick(tenants.length);
    const own = all[who]!;
    const kind = drawn[pick(drawn.length)]!;
    const { key } = own;
    const { id, own: isOwn } = anId(who);
    const reported = { kind: "thumbs", value: pick(2) === 0 ? 1 : -1, comment: markOf(who), request_id: id };
    if (kind === "ask") await ask(who, own);
    else if (kind === "read") {
      const { status } = await send(who, kind, { path: `/v1/requests/${id}`, key });
      if (status === 200 && !isOwn) throw new Error(`${tenants[who]} reads ${id}`);
    } else if (kind === "feedback")
      await send(who, kind, { method: "POST", path: "/v1/feedback", key, body: reported });
    else if (kind === "byToken") {
      // Half of them of the token's own response: of any other it says nothing.
      const { token, id: of } = own.tokens.at(-1 - pick(4)) ?? { token: "pft-none.none", id };
      const body = pick(2) === 0 ? { ...reported, request_id: of } : reported;
      await send(who, kind, { method: "POST", path: "/v1/feedback", key: token, body });
    } else if (kind === "cancel") await send(who, kind, { method: "POST", path: `/v1/requests/${id}/cancel`, key });
    else if (kind === "embed") {
      const body = { model: "auto", input: [markOf(who)] };
      await send(who, kind, { method: "POST", path: "/v1/embeddings", key, body });
    } else if (kind === "models") await send(who, kind, { path: "/v1/models", key });
    else if (kind === "page") {
      const what = ["requests", `request?id=${id}&tenant=acme`, "examples"][pick(3)];
      await send(who, kind, { path: `/page/api/${what}`, key });
    } else await send(who, kind, { path: `/v1/admin/tenants/acme/requests/${id}`, key });
  }

  await system.eventually("all keys are known", async () => {
    const answered = all.map(({ key }) => fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${key}` } }));
    return (await Promise.all(answered)).every(({ ok }) => ok) ? true : undefined;
  });
  let left = steps;
  const play = async (): Promise<void> => {
    while (left-- > 0) await step();
  };
  await Promise.all(Array.from({ length: atOnce }, play));

  // It goes where there is something to cross.
  const reached = ["ask 200", "read 200", "read 404", "feedback 202", "byToken 202", "byToken 403", "cancel 202"];
  for (const one of reached)
    expect(statuses.get(one) ?? 0, `${one} of ${JSON.stringify([...statuses])}`).toBeGreaterThan(0);
  expect([...statuses.keys()].filter((one) => /^(page|admin) (?!401|403)/.test(one) || / 5\d\d$/.test(one))).toEqual(
    [],
  );
  const answers = all.flatMap(({ ids }) => ids).length;
  expect(model.calls()).toBeLessThan(answers);
});

test("in every table a tenant's text is its own; what is forgotten of one is the others' still", async () => {
  const { clickhouse } = system.session;
  const database = system.config.clickhouse.database;
  const tables = await clickhouse.query<{ table: string }>(
    "SELECT DISTINCT table FROM system.columns WHERE database = {database:String} AND name = 'tenant' AND table NOT LIKE '.inner%'",
    { database },
  );
  expect(tables.map(({ table }) => table)).toEqual(expect.arrayContaining(["requests", "responses", "feedback"]));
  /**
   * Rows of each tenant, and which marks stand in them. FINAL: a request that came again is a row
   * more until its parts are merged, and that may be between two looks.
   */
  const rowsOf = async (): Promise<{ table: string; tenant: string; rows: number; marks: string[] }[]> => {
    const found = tables.map(({ table }) =>
      clickhouse.query<{ table: string; tenant: string; rows: number; marks: string[] }>(`
        SELECT '${table}' AS table, tenant, toUInt32(count()) AS rows,
          arraySort(groupUniqArrayArray(extractAll(toString(tuple(*)), '«tenant \\d+»'))) AS marks
        FROM ${table} GROUP BY tenant ORDER BY tenant SETTINGS final = 1`),
    );
    return (await Promise.all(found)).flat();
  };
  const answered = all.map(({ ids }) => new Set(ids).size);
  const before = await system.eventually("all that was answered is recorded", async () => {
    const rows = await rowsOf();
    const recorded = (name: string): number =>
      rows.find(({ table, tenant }) => table === "responses" && tenant === name)?.rows ?? 0;
    return tenants.every((name, who) => recorded(name) >= answered[who]!) ? rows : undefined;
  });
  for (const { table, tenant, marks } of before)
    for (const mark of marks) expect(mark, `${table} of ${tenant}`).toBe(markOf(tenants.indexOf(tenant)));
  expect(before.filter(({ marks }) => marks.length > 0).length).toBeGreaterThan(tenants.length);

  const [gone, name] = [1, tenants[1]!];
  await command("forget", "--tenant", name);
  const after = await rowsOf();
  // A removed example leaves a tombstone without a text.
  const isLeft = ({ tenant, table, marks }: (typeof after)[number]): boolean =>
    marks.includes(markOf(gone)) || (tenant === name && kept.has(table));
  expect(after.filter(isLeft)).toEqual([]);
  // Other tenants' rows never decrease; rows recorded meanwhile add to them.
  for (const { table, tenant, rows, marks } of before) {
    if (!kept.has(table) || tenant === name) continue;
    const now = after.find((one) => one.table === table && one.tenant === tenant);
    expect(now?.marks, `${table} of ${tenant}`).toEqual(marks);
    expect(now?.rows, `${table} of ${tenant}`).toBeGreaterThanOrEqual(rows);
  }
  for (const [who, { key, ids }] of all.entries()) {
    const answer = await fetch(`${baseURL}/requests/${ids[0]}`, { headers: { authorization: `Bearer ${key}` } });
    await answer.text();
    expect(answer.status).toBe(who === gone ? 404 : 200);
  }
}, 240_000);
