// An arm with several replicas over real HTTP: choice of the replica, and replicas that fail, are
// slow, throttle, or are added and removed.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { armSchema, type OpenAiArmConfig } from "../../../config/schema.ts";
import { verdictOf } from "../../../state/breakers/breakers.ts";
import type { Arm, ArmRequest, ArmResult } from "../../arm.ts";
import { armRequest, aTurn } from "../../request.testing.ts";
import { chunk, good, type Handler, never, status, stream, usage } from "../endpoint.testing.ts";
import type { EndpointArmDependencies } from "../endpoint-arm.ts";
import { createOpenAiArm } from "../openai.ts";

const servers: Server[] = [];
const arms: Arm[] = [];
afterEach(async () => {
  for (const arm of arms.splice(0)) await arm.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Replica {
  url: string;
  port: number;
  calls: number;
  keys: Set<string>;
  answer: Handler;
  metrics: string;
}

async function replica(answer: Handler = good, host = "127.0.0.1"): Promise<Replica> {
  const server = createServer((request, response) => {
    if (request.url === "/metrics") return void response.end(made.metrics);
    request.resume().on("end", () => {
      made.keys.add(String(request.headers.authorization));
      made.answer(request, response, ++made.calls);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const made: Replica = { url: `http://${host}:${port}/v1`, port, calls: 0, keys: new Set(), answer, metrics: "" };
  return made;
}

function armOf(config: object, dependencies: Partial<EndpointArmDependencies> = {}): Arm {
  const parsed = armSchema.parse({
    name: "large",
    type: "openai",
    model: "m",
    apiKey: "k",
    ...config,
  }) as OpenAiArmConfig;
  const arm = createOpenAiArm(parsed, { log: pino({ level: "silent" }), backoff: () => 1, ...dependencies });
  arms.push(arm);
  return arm;
}
const over = (replicas: readonly Replica[], more: object = {}): Arm =>
  armOf({ endpoints: replicas.map(({ url }) => url), ...more });

let id = 0;
const ask = (arm: Arm, text: string, more: Partial<ArmRequest> = {}): Promise<ArmResult> =>
  arm.answer(armRequest({ requestId: `r${id++}`, pieces: [aTurn(text)], ...more }), never());
const several = (count: number): Promise<Replica[]> => Promise.all(Array.from({ length: count }, () => replica()));
const callsOf = (replicas: readonly Replica[]): number[] => replicas.map(({ calls }) => calls);
const ok = { kind: "answer", text: "Hello" };
const refuse: Handler = (_request, response) => status(response, 503);

describe("several replicas", () => {
  it("share the prefixes, and one prefix stays where it is, also in another process", async () => {
    const all = await several(3);
    const arm = over(all);
    for (let i = 0; i < 30; i++) expect(await ask(arm, `prefix ${i}`)).toMatchObject(ok);
    for (const calls of callsOf(all)) expect(calls).toBeGreaterThan(2);
    const before = callsOf(all);
    for (let i = 0; i < 10; i++) await ask(arm, "the same");
    const home = callsOf(all).findIndex((calls, index) => calls !== before[index]);
    await ask(over([...all].reverse()), "the same");
    expect(callsOf(all)).toEqual(before.map((calls, index) => calls + (index === home ? 11 : 0)));
  });

  it("keep a conversation together, and the requests behind one example; domains are apart", async () => {
    const all = await several(16);
    const arm = over(all);
    const system = { kind: "system", id: null, role: "system", text: "Be brief." } as const;
    const example = { kind: "example", id: "e1", role: "user", text: "How?" } as const;
    const homes = async (pieces: ArmRequest["pieces"][], more: Partial<ArmRequest> = {}): Promise<number[]> => {
      const before = callsOf(all);
      for (const one of pieces) await ask(arm, "", { pieces: one, ...more });
      return callsOf(all)
        .map((calls, index) => calls - before[index]!)
        .filter((calls) => calls > 0);
    };
    const turns = ["first", "answer", "second", "answer", "third"].map(aTurn);
    expect(await homes([1, 3, 5].map((length) => [system, ...turns.slice(0, length)]))).toEqual([3]);
    expect(await homes(Array.from({ length: 8 }, (_, i) => [system, example, aTurn(`question ${i}`)]))).toEqual([8]);
    const apart = Array.from({ length: 8 }, (_, i) =>
      homes([[system, example]], { caching: { domain: `t${i}/d`, mayStore: true } }),
    );
    await Promise.all(apart);
    const used = callsOf(all).filter((calls) => calls > 0).length;
    expect(used).toBeGreaterThan(2);
  });

  it("take over from one that is busier than the bound, by its calls", async () => {
    const all = await several(3);
    const open: (() => void)[] = [];
    for (const one of all)
      one.answer = (request, response, call) => void open.push(() => good(request, response, call));
    const arm = over(all, { concurrency: 64 });
    const answers = Array.from({ length: 12 }, () => ask(arm, "hot"));
    await expect.poll(() => open.length).toBe(12);
    expect(Math.max(...callsOf(all))).toBeLessThanOrEqual(Math.ceil((1.25 * 12) / 3));
    expect(arm.replicas?.().map(({ calls, load }) => calls === load)).toEqual([true, true, true]);
    for (const end of open) end();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(ok);
    expect(arm.replicas?.().map(({ calls }) => calls)).toEqual([0, 0, 0]);
  });

  it("take over from one whose engine reports a queue of others, until its report is idle", async () => {
    const all = await several(3);
    const arm = over(all, { metricsUrl: "/metrics" });
    await ask(arm, "hot");
    const home = all.find(({ calls }) => calls === 1)!;
    for (const one of all)
      one.metrics = `vllm:num_requests_waiting ${one === home ? 40 : 0}\nvllm:num_requests_running 2`;
    const loadOf = (one: Replica): number | undefined => arm.replicas?.().find(({ name }) => name === one.url)?.load;
    await expect.poll(() => all.map(loadOf), { timeout: 10_000 }).toEqual(all.map((one) => (one === home ? 42 : 2)));
    for (let i = 0; i < 5; i++) expect(await ask(arm, "hot")).toMatchObject(ok);
    expect(home.calls).toBe(1);
    home.metrics = "vllm:num_requests_waiting 0";
    await expect.poll(() => loadOf(home), { timeout: 10_000 }).toBe(0);
    await ask(arm, "hot");
    expect(home.calls).toBe(2);
  });

  it("have keys of their own where they are given", async () => {
    const [one, two] = [await replica(), await replica()];
    const arm = armOf({ endpoints: [one.url, { baseUrl: two.url, apiKey: "own" }] });
    for (let i = 0; i < 20; i++) await ask(arm, `p${i}`);
    expect([[...one.keys], [...two.keys]]).toEqual([["Bearer k"], ["Bearer own"]]);
  });
});

describe("a replica that fails", () => {
  it.each<[string, Handler]>([
    ["503", refuse],
    ["a wrong key", (_request, response) => status(response, 401)],
    ["another model", (_request, response) => status(response, 404, { code: "model_not_found" })],
    ["429", (_request, response) => status(response, 429, {}, { "retry-after": "20" })],
    ["a lost connection", (request) => void request.socket.destroy()],
    ["half an answer", (_request, response) => void stream(response).write(chunk("Hel"), () => response.destroy())],
    ["no completion", (_request, response) => void response.end("<html>")],
  ])("with %s is left for another one at once, even where another arm could take over", async (_what, answer) => {
    const all = await several(3);
    const arm = over(all, { retries: 1 });
    await ask(arm, "hot");
    const home = all.find(({ calls }) => calls === 1)!;
    home.answer = answer;
    for (let i = 0; i < 12; i++)
      expect(await ask(arm, "hot", { replaceable: i % 2 === 0 })).toMatchObject({
        ...ok,
        attempts: expect.any(Number),
      });
    // Its breaker is open, or it sent retry-after.
    expect(home.calls).toBeLessThanOrEqual(6);
    expect(callsOf(all).reduce((sum, calls) => sum + calls)).toBe(13 + home.calls - 1);
  });

  describe("and can't be reached", () => {
    const dead = "http://10.1.2.3:8000/v1";
    /** Calls of the dead one fail so; the others are real. */
    const failing = (code: string, calls: string[]): typeof fetch =>
      ((url: string | URL, init: RequestInit) => {
        if (!String(url).startsWith(dead)) return fetch(url, { ...init, ...({ dispatcher: undefined } as object) });
        calls.push(code);
        return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) }));
      }) as typeof fetch;

    it.each([
      ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
      ...["UND_ERR_CONNECT_TIMEOUT", "ECONNRESET", "UND_ERR_SOCKET", "CERT_HAS_EXPIRED"],
    ])("by %s costs no request anything, even without retries, and is out after two calls", async (code) => {
      const all = await several(2);
      const calls: string[] = [];
      const endpoints = [dead, ...all.map(({ url }) => url)];
      const breaker = { share: 0.5, minimum: 5, windowMs: 1e9, openMs: 1e9, mostOpenMs: 1e9, probes: 2 };
      const arm = armOf({ endpoints, retries: 0 }, { fetch: failing(code, calls), breaker });
      for (let i = 0; i < 60; i++) expect(await ask(arm, `prefix ${i}`)).toMatchObject(ok);
      expect(calls).toHaveLength(2);
      expect(arm.replicas?.().map(({ breaker }) => breaker)).toEqual(["open", "closed", "closed"]);
      expect(callsOf(all).reduce((sum, count) => sum + count)).toBe(60);
    });

    it("takes no slot of the rate limit, and no retry from another failure", async () => {
      const all = await several(2);
      const calls: string[] = [];
      const breaker = { share: 1, minimum: 1_000, windowMs: 1, openMs: 1, mostOpenMs: 1, probes: 1 };
      const limits = { retries: 1, requestsPerMinute: 60 };
      const arm = armOf(
        { endpoints: [dead, ...all.map(({ url }) => url)], ...limits },
        { fetch: failing("ECONNREFUSED", calls), breaker },
      );
      for (let i = 0; i < 6; i++)
        expect(await ask(arm, `prefix ${i}`, { deadline: Date.now() + 20_000 })).toMatchObject(ok);
      for (const one of all) one.answer = refuse;
      const before = callsOf(all).reduce((sum, count) => sum + count);
      expect(await ask(arm, "hot", { deadline: Date.now() + 20_000 })).toMatchObject({ code: "endpoint_unavailable" });
      expect(callsOf(all).reduce((sum, count) => sum + count)).toBe(before + 2);
    });

    it("is left for one that is being tried again", async () => {
      const [other] = await several(1);
      const calls: string[] = [];
      const breaker = { share: 0.5, minimum: 2, windowMs: 30_000, openMs: 1, mostOpenMs: 1, probes: 1_000 };
      const arm = armOf(
        { endpoints: [dead, other!.url], retries: 0 },
        { fetch: failing("ECONNREFUSED", calls), breaker },
      );
      const state = (url: string): unknown => arm.replicas?.().find(({ name }) => name === url)?.breaker;
      other!.answer = refuse;
      for (let i = 0; state(other!.url) === "closed"; i++) await ask(arm, `prefix ${i}`);
      other!.answer = good;
      await expect.poll(() => state(other!.url)).toBe("half-open");
      for (let i = 0; i < 60; i++) expect(await ask(arm, `prefix ${i}`)).toMatchObject(ok);
      expect(calls.length).toBeGreaterThan(1);
    });

    it("like all others is a failure of one call each", async () => {
      const all = await several(3);
      for (const one of all) one.answer = (request) => void request.socket.destroy();
      const arm = over(all, { retries: 0 });
      expect(await ask(arm, "hot")).toMatchObject({ code: "endpoint_unavailable", attempts: 3 });
      expect(callsOf(all)).toEqual([1, 1, 1]);
      // The last resort: with none healthy, one is called.
      for (const one of all) one.answer = good;
      expect(await ask(arm, "hot")).toMatchObject(ok);
    });
  });

  it("is tried again half-open, and gets its prefixes back", async () => {
    const all = await several(3);
    const breaker = { share: 0.5, minimum: 2, windowMs: 30_000, openMs: 50, mostOpenMs: 100, probes: 2 };
    const arm = armOf({ endpoints: all.map(({ url }) => url) }, { breaker });
    await ask(arm, "hot");
    const home = all.find(({ calls }) => calls === 1)!;
    const state = (): unknown => arm.replicas?.().find(({ name }) => name === home.url)?.breaker;
    home.answer = refuse;
    while (state() === "closed") expect(await ask(arm, "hot")).toMatchObject(ok);
    home.answer = good;
    await expect.poll(async () => (await ask(arm, "hot"), state())).toBe("closed");
    const before = home.calls;
    await ask(arm, "hot");
    expect(home.calls).toBe(before + 1);
  });

  it("leaves the arm's breaker alone while another one is in, and no longer", async () => {
    const all = await several(2);
    const arm = over(all, { retries: 0 });
    all[0]!.answer = refuse;
    const verdicts = async (): Promise<Set<string>> => {
      const found = new Set<string>();
      for (let i = 0; i < 30; i++) found.add(verdictOf(await ask(arm, `prefix ${i}`), 1, 30_000));
      return found;
    };
    expect(await verdicts()).toEqual(new Set(["success", "ignored"]));
    all[1]!.answer = refuse;
    expect(await verdicts()).toEqual(new Set(["failure"]));
  });

  it("is not at fault for what a request may not ask, and that is not asked elsewhere", async () => {
    const all = await several(3);
    for (const one of all)
      one.answer = (_request, response) =>
        status(response, 400, { message: "max_tokens is too large", param: "max_tokens" });
    const arm = over(all);
    for (let i = 0; i < 10; i++)
      expect(await ask(arm, "hot", { params: { ...armRequest().params, maxTokens: 9 } })).toMatchObject({
        code: "request_rejected",
        attempts: 1,
      });
    expect(arm.replicas?.().map(({ breaker }) => breaker)).toEqual(["closed", "closed", "closed"]);
  });

  it("loses no request while replicas fail by turns: each is answered once, and charged for what was written", async () => {
    const all = await several(3);
    all.forEach((one, index) => {
      one.answer = (request, response, call) => {
        if ((call + index) % 3 !== 0) return good(request, response, call);
        stream(response).write(chunk("Hel", null, usage), () => response.destroy());
      };
    });
    const arm = over(all, { retries: 10, prices: { prompt: 0, completion: 1_000_000 } });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(arm, `prefix ${i}`)));
    let [attempts, cost] = [0, 0];
    for (const answer of answers) {
      expect(answer).toMatchObject(ok);
      if (answer.kind === "answer") [attempts, cost] = [attempts + answer.attempts, cost + answer.cost];
    }
    expect(attempts).toBe(callsOf(all).reduce((sum, calls) => sum + calls));
    expect(cost).toBe(10 * attempts);
  });
});

describe("replicas by name", () => {
  it("are the addresses of the host, as they come and go; the host's name stays in the call", async () => {
    const one = await replica(good, "127.0.0.1");
    let addresses: string[] = [];
    const hosts = new Set<string>();
    one.answer = (request, response, call) => {
      hosts.add(String(request.headers.host));
      good(request, response, call);
    };
    const arm = armOf(
      { baseUrl: `http://engine.internal:${one.port}/v1`, discover: "dns" },
      {
        lookup: () =>
          Promise.resolve([...addresses, "127.0.0.1", "127.0.0.1"].map((address) => ({ address, family: 4 }))),
      },
    );
    const names = (): unknown => arm.replicas?.().map(({ name }) => name);
    await expect.poll(names).toEqual([`http://127.0.0.1:${one.port}/v1`]);
    expect(await ask(arm, "hot")).toMatchObject(ok);
    expect([...hosts]).toEqual([`engine.internal:${one.port}`]);
    addresses = ["127.0.0.2"];
    await expect.poll(names, { timeout: 12_000 }).toEqual([1, 2].map((n) => `http://127.0.0.${n}:${one.port}/v1`));
    // The new replica refuses connections; the other answers its share.
    for (let i = 0; i < 10; i++) expect(await ask(arm, `p${i}`)).toMatchObject(ok);
  }, 20_000);

  it("that can't be looked up are a failure of the call, not of the start", async () => {
    const lookup = (): Promise<never> => Promise.reject(new Error("ENOTFOUND"));
    const arm = armOf({ baseUrl: "http://engine.invalid/v1", discover: "dns", retries: 0 }, { lookup });
    expect(await ask(arm, "hot")).toMatchObject({ kind: "failure", code: "endpoint_refused" });
  });
});

it.each<[string, object, RegExp]>([
  ["no endpoint", {}, /baseUrl.*missing/s],
  ["an empty list", { endpoints: [] }, /endpoints/],
  ["both", { baseUrl: "http://a/v1", endpoints: ["http://b/v1"] }, /beside baseUrl/],
  ["one twice", { endpoints: ["http://a/v1", "http://b/v1", "http://a:80/v1/"] }, /twice/],
  ["no URL", { endpoints: ["a:8000"] }, /URL/],
  ["another key", { endpoints: [{ baseUrl: "http://a/v1", weight: 2 }] }, /weight/],
  ["addresses of a list", { endpoints: ["http://a/v1"], discover: "dns" }, /host of baseUrl/],
  [
    "one load for two",
    { endpoints: ["http://a/v1", "http://b/v1"], metricsUrl: "http://a/metrics" },
    /several endpoints/,
  ],
  ["a load elsewhere", { baseUrl: "http://a/v1", discover: "dns", metricsUrl: "http://b/metrics" }, /another host/],
  ["a path without a slash", { baseUrl: "http://a/v1", metricsUrl: "metrics" }, /path of each endpoint/],
])("a configuration with %s is refused", (_what, more, why) => {
  const { error } = armSchema.safeParse({ name: "large", type: "openai", model: "m", ...more });
  expect(JSON.stringify(error?.issues)).toMatch(why);
});
