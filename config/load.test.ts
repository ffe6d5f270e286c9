import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { missingFiles } from "./files.ts";
import { configShape } from "./schema.ts";
import { ConfigError, armsOf, loadConfig, parseConfig } from "./load.ts";
import { isInline } from "./sections/arms.ts";

const parse = (text: string, environment: Record<string, string> = {}) =>
  parseConfig(text, { source: "precedent.yaml", folder: "/etc/precedent", environment });

function problemsIn(text: string, environment: Record<string, string> = {}): readonly string[] {
  try {
    parse(text, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

interface Node {
  type?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

function walk(node: Node, path: string, look: (path: string, node: Node) => void): void {
  look(path, node);
  for (const [key, inner] of Object.entries(node)) {
    if (typeof inner !== "object" || inner === null) continue;
    const isStructure = ["properties", "anyOf", "oneOf", "items", "additionalProperties"].includes(key);
    walk(inner as Node, isStructure ? path : path === "" ? key : `${path}.${key}`, look);
  }
}

describe("configuration", () => {
  it("fills in defaults", () => {
    const config = parse("arms: [{ name: small, type: llama }]");
    expect(armsOf(config)).toEqual(["small"]);
    expect(config.kafka).toMatchObject({ prefix: "precedent.", partitions: 8 });
    expect(config.limits.deadlineMs).toBe(120_000);
  });

  it("lists every problem with line, path and what is allowed", () => {
    const text = [
      "kafka:",
      "  partitons: 4",
      "  prefix: 'a b'",
      "  sasl: { mechanism: kerberos, username: u }",
      "routing:",
      "  costWeight: -1",
      "registry: { url: nowhere }",
      "limits: { inFlight: 1.5 }",
      "arms:",
      "  - { name: small, type: llama, contextTokens: many, baseUrl: x }",
      "  - { name: other, type: magic }",
    ].join("\n");
    const problems = problemsIn(text).join("\n");
    expect(problems).toMatch(/line 2: kafka\.partitons: unknown key; did you mean partitions\?/);
    expect(problems).toMatch(/line 3: kafka\.prefix: wrong form; allowed: must match/);
    expect(problems).toMatch(/line 4: kafka\.sasl\.mechanism: not one of the choices; allowed: plain, scram-sha-256/);
    expect(problems).toMatch(/line 6: routing\.costWeight: too small; allowed: at least 0/);
    expect(problems).toMatch(/line 7: registry\.url: wrong form; allowed: a URL/);
    expect(problems).toMatch(/line 8: limits\.inFlight: is a number with a fraction; allowed: a whole number/);
    expect(problems).toMatch(/line 10: arms\[0\]\.contextTokens: is a string; allowed: a number/);
    expect(problems).toMatch(/line 10: arms\[0\]\.baseUrl: unknown key; allowed: .*threads/);
    expect(problems).toMatch(
      /line 11: arms\[1\]\.type: not one of the choices; allowed: openai, anthropic, llama, recorded/,
    );
  });

  it("checks what is right beside what is wrong: files, ports and combinations, in one pass", () => {
    const text = [
      "clickhouse: { ttlDays: 36500, cluster: x }",
      "routing: { defaultArm: nope, explorationFloor: .nan }",
      "gateway: { port: 99 }",
      "http: { port: 99 }",
      "embedder: { model: ./none }",
      "arms:",
      "  - { name: a, type: openai, baseUrl: 'localhost:80/v1', model: m }",
      "  - { name: a, type: llama, model: SmolLM9-1B, chatTemplate: sub/t.jinja }",
      "  - { name: c, type: recorded, file: ../r.jsonl }",
    ].join("\n");
    const environment = {};
    let problems: readonly string[] = [];
    try {
      parseConfig(text, { source: "x", folder: "/etc/precedent", environment, more: missingFiles });
    } catch (error) {
      problems = (error as ConfigError).problems;
    }
    expect(problems.map((one) => one.replace(/; allowed.*|: name a .*/, ""))).toEqual([
      "line 1: clickhouse.ttlDays: too large",
      "line 2: routing.explorationFloor: is no finite number",
      "line 7: arms[0].baseUrl: wrong form",
      'line 8: arms[1].name: "a" is the name of two arms',
      'line 2: routing.defaultArm: "nope" is no arm; there are a, a, c',
      "line 4: http.port: 99 is the port of the gateway, too: give each its own",
      "line 8: arms[1].chatTemplate: there is no file /etc/precedent/sub/t.jinja",
      "line 8: arms[1].model: there is no file /etc/precedent/SmolLM9-1B",
      "line 9: arms[2].file: there is no file /etc/r.jsonl",
      "line 5: embedder.model: there is no file /etc/precedent/none/model.onnx",
      "line 5: embedder.model: there is no file /etc/precedent/none/tokenizer.json",
    ]);
  });

  it("says what is wrong with prices and names that would mislead", () => {
    const arm = (name: string, prices: string): string =>
      `  - { name: ${name}, type: openai, baseUrl: "http://x/v1", model: m, prices: ${prices} }`;
    const text = [
      "arms:",
      arm("auto", "{ prompt: 0.15, completion: 0.6 }"),
      arm("a", "{ prompt: 0.00000015, completion: 0.0000006 }"),
      arm("b", "{ prompt: '0.15', completion: 0.6 }"),
      arm("c", "{ input: 1, completion: 2 }"),
      arm("d", "cheap"),
    ].join("\n");
    expect(problemsIn(text)).toEqual([
      "line 4: arms[2].prices.prompt: is a string; allowed: a number",
      expect.stringMatching(/^line 5: arms\[3\]\.prices\.input: unknown key; allowed: prompt, cachedPrompt, /),
      "line 6: arms[4].prices: not one of the choices; allowed: catalogue, a group of keys",
      expect.stringMatching(/^line 2: arms\[0\]\.name: "auto" leaves the choice to the router/),
      expect.stringMatching(/^line 3: arms\[1\]\.prices: less than 0\.0001 per million tokens/),
    ]);
  });

  it("has a least and a greatest value for every number, and takes both", () => {
    const ranges = new Map<string, { least: number; most: number }>();
    walk(z.toJSONSchema(configShape, { io: "input", unrepresentable: "any" }) as Node, "", (path, node) => {
      if (node.type !== "number" && node.type !== "integer") return;
      // JSON for an endpoint (arms.body): its ranges are the endpoint's.
      if (path.startsWith("$defs.")) return;
      const least = node.minimum ?? node.exclusiveMinimum;
      expect(least, path).toBeGreaterThanOrEqual(-1);
      expect(node.maximum, path).toBeLessThanOrEqual(2 ** 42);
      ranges.set(path, { least: least!, most: node.maximum! });
      // setTimeout takes 32 bits.
      if (/Ms$/.test(path)) expect(node.maximum, path).toBeLessThan(2 ** 31);
    });
    expect(ranges.size).toBeGreaterThan(80);
    expect(ranges.get("clickhouse.ttlDays")).toEqual({ least: 0, most: 10_000 });
  });

  it.each([
    ["kafka: { brokers: ['http://k:9092'] }", "kafka.brokers[0]"],
    ["kafka: { brokers: ['k'] }", "kafka.brokers[0]"],
    ["kafka: { brokers: ['k:65536'] }", "kafka.brokers[0]"],
    ["registry: { url: 'http://u:p@r' }", "registry.url"],
    ["clickhouse: { url: 'clickhouse://c:9000' }", "clickhouse.url"],
    ["record: { batchMs: 2147483648 }", "record.batchMs"],
    ["learn: { halfLifeHours: 0 }", "learn.halfLifeHours"],
    ["selection: { examples: 1e400 }", "selection.examples"],
    ["curate: { admit: { ttlDays: 36500 } }", "curate.admit.ttlDays"],
    ["limits: { inFlightBytes: 9007199254740993 }", "limits.inFlightBytes"],
  ])("refuses %s", (text, path) => {
    expect(problemsIn(`${text}\narms: [{ name: a, type: llama }]`)).toEqual([
      expect.stringContaining(`line 1: ${path}: `),
    ]);
  });

  it.each([
    ["http://h/v1/chat/completions", /before \/chat\/completions/],
    ["https://h/openai/deployments/d/chat/completions?api-version=1", /before/],
    ["ftp://h/v1", /wrong form/],
    ["https://u:p@h/v1", /user or password/],
    ["https://h/v1#x", /"#"/],
    ["https://h/openai/deployments/d?api-version=2024-10-21", undefined],
    ["http://[::1]:8080/v1/", undefined],
  ])("an openai arm at %s", (baseUrl, problem) => {
    const found = problemsIn(`arms: [{ name: a, type: openai, model: m, baseUrl: "${baseUrl}" }]`);
    if (problem === undefined) expect(found).toEqual([]);
    else expect(found.join()).toMatch(problem);
  });

  it.each([
    ["arms: [{ name: a, type: llama, experimental: true }]", /arms: all are experimental/],
    ["experiments: [{ name: e, variants: [{ name: x }] }]", /variants: too small; allowed: at least 2/],
    ["experiments: [{ name: e, variants: [{ name: x }, { name: x }] }]", /"x" is the name of two variants/],
    ["experiments: [{ name: e, variants: [{ name: x }, { name: y, arms: [b] }] }]", /arms\[0\]: no arm is named "b"/],
    ["experiments: [{ name: e, variants: [{ name: x }, { name: y, routerVersion: 1.5 }] }]", /routerVersion: /],
    ["experiments: [{ name: e, share: 2, variants: [{ name: x }, { name: y }] }]", /share: too large/],
    [
      "experiments: [&e { name: e, variants: [{ name: x }, { name: y }] }, *e]",
      /experiments\[1\]\.name: "e" is the name of two experiments/,
    ],
  ])("refuses the experiment of %s", (text, problem) => {
    const arms = text.startsWith("arms") ? "" : "\narms: [{ name: a, type: llama }]";
    expect(problemsIn(`${text}${arms}`).join()).toMatch(problem);
  });

  it("refuses impossible combinations", () => {
    const arms = "arms: [{ name: a, type: llama }, { name: a, type: llama }]";
    expect(problemsIn(arms)).toEqual(['line 1: arms[1].name: "a" is the name of two arms']);
    expect(problemsIn("routing: { defaultArm: b }\narms: [{ name: a, type: llama }]")[0]).toMatch(
      /line 1: routing.defaultArm: "b" is no arm/,
    );
    expect(problemsIn("clickhouse: { cluster: main }\narms: [{ name: a, type: llama }]")[0]).toMatch(
      /clickhouse.cluster: .*clickhouse.url/,
    );
    expect(
      problemsIn(
        "kafka: { sasl: { mechanism: plain, username: u, password: p } }\narms: [{ name: a, type: llama }]",
      )[0],
    ).toMatch(/kafka.sasl: .*kafka.brokers/);
    expect(problemsIn("registry: { url: 'http://r', password: p }\narms: [{ name: a, type: llama }]")[0]).toMatch(
      /registry.password: .*username/,
    );
  });

  it.each([
    ["{ 'a b': x }", "headers: has a name that no header has"],
    ['{ a: "x\\ny" }', "a: wrong form; allowed: Latin characters, without line breaks"],
    ["{ Content-Type: text/plain }", "headers: has headers that every call has"],
  ])("refuses an arm's headers %s", (headers, problem) => {
    const [found, ...others] = problemsIn(
      `arms: [{ name: a, type: openai, baseUrl: http://h, model: m, headers: ${headers} }]`,
    );
    expect([found, others]).toEqual([expect.stringContaining(problem), []]);
  });

  it.each([
    "type: openai, endpoints: [{ baseUrl: http://h/v1 }]",
    "type: openai, baseUrl: http://h/v1, discover: dns",
    "type: anthropic, baseUrl: http://h/v1, discover: dns",
  ])("refuses provider batches of several addresses: %s", (keys) => {
    const other = "{ name: b, type: llama }";
    expect(problemsIn(`arms: [${other}, { name: a, model: m, batch: provider, ${keys} }]`)).toEqual([
      "line 1: arms[1].batch: needs one address: write it as baseUrl",
    ]);
  });

  it.each([
    ["device: 'a b'", /^line 1: arms\[0\]\.device: .*cpu, auto, gpu/],
    ["device: ''", /^line 1: arms\[0\]\.device: /],
    ["gpuLayers: 3", /^line 1: arms\[0\]\.gpuLayers: .*set device/],
    ["device: CPU, gpuLayers: 0", /^line 1: arms\[0\]\.gpuLayers: .*set device/],
    ["device: gpu, gpuLayers: -1", /^line 1: arms\[0\]\.gpuLayers: /],
    ["flashAttention: off, kvType: q8_0", /^line 1: arms\[0\]\.flashAttention: kvType q8_0 needs flash attention/],
    ["flashAttention: maybe", /^line 1: arms\[0\]\.flashAttention: /],
  ])("refuses a llama arm with %s", (keys, problem) => {
    expect(problemsIn(`arms: [{ name: a, type: llama, ${keys} }]`)).toEqual([expect.stringMatching(problem)]);
  });

  it.each(["device: auto", "device: Vulkan0, gpuLayers: 12", "device: gpu, flashAttention: on, kvType: q8_0"])(
    "takes a llama arm with %s",
    (keys) => expect(problemsIn(`arms: [{ name: a, type: llama, ${keys} }]`)).toEqual([]),
  );

  it("refuses credentials that are missing, said twice, of no use, or in the clear", () => {
    const of = (text: string): readonly string[] => problemsIn(`${text}\narms: [{ name: a, type: llama }]`);
    const sasl = (keys: string): readonly string[] => of(`kafka: { brokers: ["k:9093"], sasl: { ${keys} } }`);
    expect(sasl("mechanism: plain, username: u")[0]).toMatch(/kafka.sasl.password: missing; plain needs/);
    expect(sasl("mechanism: plain, password: p")[0]).toMatch(/kafka.sasl.username: missing/);
    expect(sasl("mechanism: scram-sha-512, username: u, password: p, passwordFile: f")[0]).toMatch(
      /kafka.sasl.passwordFile: .*kafka.sasl.password as well/,
    );
    expect(sasl("mechanism: oauthbearer")[0]).toMatch(/kafka.sasl.oauth: missing/);
    expect(sasl("mechanism: oauthbearer, tokenFile: t, username: u")[0]).toMatch(/kafka.sasl.username: .*no use/);
    const oauth = (endpoint: string): readonly string[] =>
      sasl(`mechanism: oauthbearer, oauth: { endpoint: '${endpoint}', clientId: c, clientSecret: s }`);
    expect(oauth("http://idp/token")[0]).toMatch(/oauth.endpoint: .*in the clear/);
    expect(oauth("https://idp/token")).toEqual([]);
    expect(oauth("http://127.0.0.1:1/token")).toEqual([]);
    expect(of("kafka: { tls: { ca: c } }")[0]).toMatch(/kafka.tls: .*kafka.brokers/);
    expect(of("kafka: { brokers: ['k:1'], tls: { cert: c } }")[0]).toMatch(/kafka.tls.key: .*together/);
    expect(of("registry: { url: 'http://r', tls: { ca: c } }")[0]).toMatch(/registry.tls: .*no https/);
    expect(of("registry: { url: 'https://r', username: u, tokenFile: t }")[0]).toMatch(/registry.tokenFile: .*one of/);
    expect(of("clickhouse: { url: 'https://c', password: p, passwordFile: f }")[0]).toMatch(/passwordFile: .*one of/);
  });

  it("takes a schedule of example replays with times, a zone and a judge that there are", () => {
    const of = (replay: string): readonly string[] =>
      problemsIn(`curate: { exampleReplay: ${replay} }\narms: [{ name: a, type: llama }]`);
    const schedule = 'schedule: { times: ["03:00"], days: [sunday], timeZone: Europe/Berlin }';
    expect(of(`{ judge: a, ${schedule} }`)).toEqual([]);
    expect(of(`{ ${schedule} }`)[0]).toMatch(/curate.exampleReplay.schedule: no arm judges/);
    expect(of("{ judge: b }")[0]).toMatch(/curate.exampleReplay.judge: "b" is no arm; reference:FILE, or one of a/);
    expect(
      problemsIn("curate: { exampleReplay: { judge: r } }\narms: [{ name: a, type: llama }, { name: r, type: reuse }]"),
    ).toEqual([expect.stringMatching(/curate.exampleReplay.judge: "r" reuses answers and can't compare two of them/)]);
    expect(of('{ judge: a, schedule: { times: ["3:00"] } }')[0]).toMatch(/times\[0\].*HH:MM/);
    expect(of('{ judge: a, schedule: { times: ["03:00"], timeZone: Here } }')[0]).toMatch(/timeZone: no time zone/);
  });

  it("takes as automatic judge an arm with a model, and as reference one without examples", () => {
    const of = (judge: string): readonly string[] =>
      problemsIn(
        `learn: { judge: ${judge} }\narms: [{ name: a, type: llama }, { name: b, type: llama, examples: false }, { name: r, type: recorded, file: f }, { name: u, type: reuse }]`,
      );
    expect(of("{ arm: a, reference: b }")).toEqual([]);
    expect(of("{ arm: c }")[0]).toMatch(/learn.judge.arm: "c" is no arm; there are a, b, r, u/);
    expect(of("{ arm: r }")[0]).toMatch(/learn.judge.arm: "r" is of type recorded and can't judge/);
    expect(of("{ arm: u }")[0]).toMatch(/learn.judge.arm: "u" is of type reuse and can't judge/);
    expect(of("{ reference: b }")[0]).toMatch(/learn.judge.reference: no arm judges/);
    expect(of("{ arm: b, reference: a }")[0]).toMatch(/learn.judge.reference: "a" is shown examples/);
    expect(of("{ arm: a, reference: u }")[0]).toMatch(/learn.judge.reference: "u" reuses answers/);
    expect(of("{ arm: b, reference: b }")[0]).toMatch(/learn.judge.reference: "b" would judge itself/);
  });

  it("arms that wait are inline unless they are queued; models in the process and batches are queued", () => {
    const endpoint = "type: openai, baseUrl: 'http://h', model: m";
    const inline = (text: string): boolean[] => parse(text).arms.map(isInline);
    const both = (asked: string) =>
      `arms: [{ name: a, ${endpoint}, dispatch: ${asked} }, { name: b, type: recorded, file: f, dispatch: ${asked} }]`;
    expect(inline(both("inline"))).toEqual([true, true]);
    expect(inline(both("queued"))).toEqual([false, false]);
    const fixed = `{ name: c, type: llama }, { name: d, type: reuse }, { name: e, ${endpoint}, batch: provider }`;
    const plain = `arms: [{ name: a, ${endpoint} }, { name: b, type: recorded, file: f }, ${fixed}]`;
    expect(inline(plain)).toEqual([true, true, false, true, false]);
    for (const type of ["llama", "reuse"])
      expect(problemsIn(`arms:\n  - { name: a, type: ${type}, dispatch: inline }`)[0]).toMatch(
        /^line 2: arms\[0\]\.dispatch: unknown key/,
      );
    expect(problemsIn("arms:\n  - { name: a, type: recorded, file: f, dispatch: now }")).toEqual([
      "line 2: arms[0].dispatch: not one of the choices; allowed: queued, inline",
    ]);
  });

  it.each(["blend-15", "craft-0.5+focus", "last-1+random-10", "attended-20"])(
    "refuses the research policy %s for serving, and says which to choose",
    (policy) => {
      expect(problemsIn(`arms:\n  - { name: a, type: llama, linked: { policy: ${policy} } }`)).toEqual([
        expect.stringMatching(
          /^line 2: arms\[0\]\.linked\.policy: "[^"]+" is a research policy .* choose last-M, .* or auto$/,
        ),
      ]);
    },
  );

  it("says where YAML itself is broken", () => {
    expect(problemsIn("arms:\n  - {name: a\n")[0]).toMatch(/^line \d+: /);
    expect(problemsIn("log: {}\nlog: {}")[0]).toMatch(/line 2: .*unique/);
  });

  it("takes an empty file for one without arms", () => {
    expect(problemsIn("")).toEqual(["arms: missing; allowed: a list"]);
  });

  it("takes files of certificates and secrets from its own folder", () => {
    const text = `kafka: { brokers: ["k:1"], tls: { ca: ca.pem }, sasl: { mechanism: oauthbearer, oauth: { endpoint: "https://i", clientId: c, clientSecretFile: s } } }
registry: { url: "https://r", tokenFile: /run/token }
arms: [{ name: a, type: llama }]`;
    const { kafka, registry } = parse(text);
    expect(kafka.tls?.ca).toMatch(/^\/.*\/ca\.pem$/);
    expect(kafka.sasl?.oauth?.clientSecretFile).toMatch(/^\/.*\/s$/);
    expect(kafka.brokers).toEqual(["k:1"]);
    expect(registry.tokenFile).toBe("/run/token");
  });

  it("fills in environment variables", () => {
    const text =
      "arms: [{ name: a, type: openai, baseUrl: '${BASE:-http://localhost:1}', model: 'm$${x}', apiKey: '${KEY}' }]";
    expect(parse(text, { KEY: "k" }).arms[0]).toMatchObject({
      apiKey: "k",
      baseUrl: "http://localhost:1",
      model: "m${x}",
    });
  });

  it("names the key and the variable that is missing, once", () => {
    expect(
      problemsIn(
        "registry: { url: '${REGISTRY}' }\narms: [{ name: a, type: openai, baseUrl: 'http://h', model: m, apiKey: '${KEY}' }]",
      ),
    ).toEqual([
      "line 1: registry.url: environment variable REGISTRY is not set; allowed: set it, or write ${REGISTRY:-value}",
      "line 2: arms[0].apiKey: environment variable KEY is not set; allowed: set it, or write ${KEY:-value}",
    ]);
  });

  it("never tells a secret", () => {
    const text =
      "routing: { defaultArm: '${SECRET}' }\nkafka: { prefix: '${WRONG}' }\narms: [{ name: a, type: llama }]";
    expect(problemsIn(text, { SECRET: "hush-hush", WRONG: "also hush" }).join()).not.toMatch(/hush/);
    expect(
      problemsIn("routing: { defaultArm: '${SECRET}' }\narms: [{ name: a, type: llama }]", { SECRET: "hush-hush" })[0],
    ).toMatch(/\[secret\]/);
  });
});

describe("configuration file", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "precedent-config-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it("resolves paths against the file's folder", () => {
    writeFileSync(
      join(folder, "mine.yaml"),
      "embedder: { model: models/x }\narms: [{ name: large, type: recorded, file: ../log.jsonl }]\ncurate: { exampleReplay: { judge: 'reference:known.jsonl' } }",
    );
    const { config, file } = loadConfig({ file: join(folder, "mine.yaml"), cwd: "/", environment: {} });
    expect(file).toBe(join(folder, "mine.yaml"));
    expect(config.stack.folder).toBe(join(folder, ".precedent"));
    expect(config.embedder.model).toBe(join(folder, "models/x"));
    expect(config.arms[0]).toMatchObject({ file: resolve(folder, "../log.jsonl") });
    expect(config.curate.exampleReplay.judge).toBe(`reference:${join(folder, "known.jsonl")}`);
  });

  it("takes an endpoint's embedding model by name, and asks for what it needs", () => {
    const load = (embedder: string): { model: string | undefined } => {
      writeFileSync(
        join(folder, "mine.yaml"),
        `embedder: ${embedder}\narms: [{ name: large, type: recorded, file: ../log.jsonl }]`,
      );
      return {
        model: loadConfig({ file: join(folder, "mine.yaml"), cwd: "/", environment: {} }).config.embedder.model,
      };
    };
    const endpoint = "type: openai, model: org/small, baseUrl: 'http://tei:8080/v1'";
    expect(load(`{ ${endpoint}, dimension: 384 }`)).toEqual({ model: "org/small" });
    expect(() => load(`{ ${endpoint} }`)).toThrow(/embedder.dimension: missing: type openai needs it/);
    expect(() => load("{ dimension: 384 }")).toThrow(/embedder.dimension: belongs to type openai/);
  });

  it("takes no member of a shared domain that is called as the tenant of synthetic examples", () => {
    const load = (tenants: string) => {
      writeFileSync(
        join(folder, "mine.yaml"),
        `sharing: { faq: { tenants: ${tenants} } }\narms: [{ name: large, type: recorded, file: ../log.jsonl }]`,
      );
      return loadConfig({ file: join(folder, "mine.yaml"), cwd: "/", environment: {} }).config.sharing;
    };
    expect(load('[acme, "+1"]')).toEqual({ faq: { tenants: ["acme", "+1"] } });
    expect(() => load('[acme, "+"]')).toThrow(/sharing.faq.tenants.*"\+" is the tenant of synthetic examples/);
  });

  it("does without a file, with the small arm alone, but not without one that was named", () => {
    const loaded = loadConfig({ cwd: folder, environment: {} });
    expect(loaded.file).toBeNull();
    expect(loaded.config.arms).toMatchObject([{ name: "small", type: "llama" }]);
    expect(() => loadConfig({ file: "absent.yaml", cwd: folder, environment: {} })).toThrow(
      /absent.yaml: .*\n.*no such file/,
    );
  });

  it("names a folder that was given in place of a file", () => {
    expect(() => loadConfig({ file: folder, environment: {} })).toThrow(
      `${folder}: 1 problem\n  this is a folder: name the file in it`,
    );
  });

  it("takes precedent.yaml where it lies", () => {
    writeFileSync(join(folder, "precedent.yaml"), "arms: [{ name: found, type: llama }]");
    expect(armsOf(loadConfig({ cwd: folder, environment: {} }).config)).toEqual(["found"]);
  });
});

describe("shipped samples", () => {
  const samples = resolve(import.meta.dirname, "../deploy");

  it("are valid", () => {
    const endpoint = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", OPENAI_API_KEY: "key" };
    const local = loadConfig({ file: join(samples, "demo.yaml"), environment: {} }).config;
    const remote = loadConfig({ file: join(samples, "demo-openai.yaml"), environment: endpoint }).config;
    const small = { name: "small", type: "llama", model: "Qwen2.5-Coder-0.5B-Instruct", examples: true };
    for (const { arms, routing } of [local, remote]) {
      expect(routing.defaultArm).toBe("small");
      expect(arms).toMatchObject([small, { name: "large", examples: false }]);
    }
    expect(local.arms[1]).toMatchObject({ type: "llama", model: "Qwen2.5-Coder-1.5B-Instruct" });
    expect(remote.arms[1]).toMatchObject({ type: "openai", baseUrl: "http://127.0.0.1:1/v1", model: "gpt-4o-mini" });
  });
});
