import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestOf } from "./ask.ts";
import { describeAnswer } from "./describe-answer.ts";
import { toExample } from "./imported-example.ts";
import type { Io } from "./io.ts";
import { parseDuration, parseNames } from "./options.ts";
import { checkPairs, readPairs } from "./pairs.ts";
import { createProgram } from "./program.ts";
import { renderTable } from "./sql.ts";
import { runCommand, type CapturedOutput } from "./run.testing.ts";
import { NO_USAGE } from "../schemas/no-usage.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-cli-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const run = (...argv: string[]): Promise<CapturedOutput> => runCommand(folder, argv);

describe("command line", () => {
  it("ends with 2 when it is used wrongly, and says how", async () => {
    expect(await run("ask")).toMatchObject({
      code: 2,
      note: expect.stringMatching(/missing required argument 'question'/),
    });
    expect(await run("config", "chek")).toMatchObject({ code: 2, note: expect.stringMatching(/Did you mean check/) });
    expect(await run("up", "--stage", "foo")).toMatchObject({
      code: 2,
      note: expect.stringMatching(/plan, generate, record/),
    });
    expect(await run("ask", "x", "--timeout", "soon")).toMatchObject({
      code: 2,
      note: expect.stringMatching(/500ms, 90s, 2m, 12h or 30d/),
    });
  });

  it("refuses to run where the environment turns the check of certificates off", async () => {
    const refused = await runCommand(folder, ["config", "check"], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect(refused).toMatchObject({ code: 2, note: expect.stringMatching(/unset it.*NODE_EXTRA_CA_CERTS/) });
  });

  it("takes names separated by commas, and leaves the question to the command", async () => {
    expect(await run("select", "-a", "small,gone", "a question")).toMatchObject({
      code: 2,
      note: expect.stringMatching(/--arm gone: there are small/),
    });
    const stages = await run("up", "-s", "plan,generat");
    expect(stages).toMatchObject({ code: 2, note: expect.stringMatching(/no generat; allowed: plan, generate/) });
    expect(await run("ask", "-a", "small,", "x")).toMatchObject({ code: 2, note: expect.stringMatching(/by commas/) });
    const parse = parseNames(["a", "b", "c"]);
    expect(parse("a, b")).toEqual(["a", "b"]);
    expect(parse("c", parse("a,b"))).toEqual(["a", "b", "c"]);
  });

  it("has no option that swallows the arguments behind it", async () => {
    const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
    const io: Io = {
      out() {},
      data: () => Promise.resolve(),
      note() {},
      environment: {},
      cwd: folder,
      signal: new AbortController().signal,
    };
    const commands = all(await createProgram(io));
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.flatMap(({ options }) => options.filter(({ variadic }) => variadic))).toEqual([]);
    const ask = commands.find((command) => command.name() === "ask")!;
    const asked: unknown[] = [];
    ask.action((question: string, { arm }: { arm: string[] }) => void asked.push(question, arm));
    ask.parse(["-a", "small", "a question"], { from: "user" });
    expect(asked).toEqual(["a question", ["small"]]);
  });

  it("ends with 0 for help", async () => {
    expect(await run("--help")).toMatchObject({ code: 0, out: expect.stringMatching(/Usage: precedent/) });
  });

  it("checks a configuration", async () => {
    const good = write("good.yaml", "arms: [{ name: a, type: llama }]");
    expect(await run("config", "check", "--config", good)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/good.yaml: fine\narms: a/),
    });
    const bad = write("bad.yaml", "kafka: { brokr: [] }\narms: []");
    const { code, note } = await run("--config", bad, "config", "check");
    expect(code).toBe(1);
    expect(note).toMatch(/^error: .*bad.yaml: 2 problems\n {2}line 1: kafka.brokr: unknown key/);
    expect(note).not.toMatch(/ {4}at /);
  });

  it("says that no stack runs, in one line", async () => {
    const file = write("stack.yaml", "stack: { folder: nothing }\narms: [{ name: a, type: llama }]");
    const { code, note } = await run("sql", "SELECT 1", "-c", file);
    expect(code).toBe(1);
    expect(note).toMatch(/^error: no stack runs on .*nothing.*\n$/);
  });

  it.each([
    [2, ["log.jsonl", "--preset", "constructor"], /--preset constructor: there are litellm/],
    [2, ["log.jsonl", "--columns", "question=prompt"], /--columns question=prompt: COLUMN=NAME/],
    [1, ["missing.jsonl"], /missing.jsonl: there is no such file/],
  ])("ends with %i for import %j, before it starts a stack", async (ends, given, message) => {
    const config = write("stack.yaml", "stack: { folder: unstarted }\narms: [{ name: a, type: llama }]");
    write("log.jsonl", '{"request":"list files"}\n');
    const { code, note } = await run("import", ...given, "-c", config);
    expect([code, note]).toEqual([ends, expect.stringMatching(message)]);
    expect(existsSync(join(dirname(config), "unstarted"))).toBe(false);
  });

  it("draws the topology with every arm", async () => {
    write("precedent.yaml", "arms: [{ name: one, type: llama }, { name: two, type: llama }]");
    const { code, out } = await run("topology");
    expect(code).toBe(0);
    expect(out).toMatch(/^flowchart LR\n/);
    expect(out).toContain("work_two --> stage_generate");
  });

  it("draws tenants' topics, and prints what their principals need, where tenants have some", async () => {
    const arms = "arms: [{ name: one, type: llama }]";
    write("precedent.yaml", arms);
    expect((await run("topology")).out).not.toMatch(/TENANT|intake|outlet/);
    expect((await run("topology")).out).toContain("clients --> requests");
    write("precedent.yaml", `tenants: { acme: { principal: "User:acme-client" }, beta: {} }\n${arms}`);
    const drawn = (await run("topology")).out;
    for (const edge of ["clients --> requests_TENANT", "requests_TENANT --> stage_intake_requests"])
      expect(drawn).toContain(edge);
    expect(drawn).toContain("stage_outlet_responses --> responses_TENANT");
    const { out } = await run("topology", "--acls");
    const ofAcme = out.split("\n").filter((line) => line.includes('"User:acme-client"'));
    expect(ofAcme.map((line) => line.replace(/^.*acme-client" /, ""))).toEqual([
      '--operation Write --topic "precedent.requests.acme" --resource-pattern-type literal',
      '--operation Write --topic "precedent.feedback.acme" --resource-pattern-type literal',
      '--operation Read --topic "precedent.responses.acme" --resource-pattern-type literal',
      '--operation Read --topic "precedent.alternative-answers.acme" --resource-pattern-type literal',
      '--operation Read --group "precedent.responses.acme." --resource-pattern-type prefixed',
    ]);
    expect(out).toContain('"User:precedent-intake" --operation Read --topic "precedent.requests."');
  });

  it("draws no work for inline arms, and no generate where all are inline", async () => {
    const inline = "{ name: two, type: recorded, file: f, dispatch: inline }";
    write("precedent.yaml", `arms: [{ name: one, type: llama }, ${inline}]`);
    const some = (await run("topology")).out;
    expect(some).toContain("work_one --> stage_generate");
    expect(some).not.toContain("work_two");
    // Alternative answers and what it takes over go there all the same.
    const { out: acls } = await run("topology", "--acls");
    for (const stage of ["plan", "generate"])
      expect(acls).toMatch(new RegExp(`User:precedent-${stage}" .*--operation Write --topic "precedent.work.two"`));
    write("precedent.yaml", `arms: [${inline}]`);
    const none = (await run("topology")).out;
    expect(none).not.toMatch(/work_|stage_generate/);
    expect(none).toContain("stage_plan --> responses");
    expect(none).not.toContain("clients --> kv_inventory");
  });
});

describe("times", () => {
  it.each([
    ["90", 90_000],
    ["1.5s", 1_500],
    ["500ms", 500],
    ["2m", 120_000],
  ])("%s is %d ms", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });
  it.each(["0", "-1", "1w", "", "s"])("%j is refused", (text) => {
    expect(() => parseDuration(text)).toThrow(/90s/);
  });
});

describe("tables of sql", () => {
  it("keep every row on one line and strip what would steer a terminal", () => {
    const text = '["te\\nxt"]\n["String"]\n["a\\nb\\u001b[31m"]\n[null]\n';
    const table = renderTable(text);
    expect(table).toContain("te xt");
    expect(table).toContain("a b[31m");
    expect(table).toMatch(/2 rows\n$/);
  });
  it("show every digit, and NULL apart from an empty text, NaN and a text of that name", () => {
    const numbers =
      '18446744073709551615, -170141183460469231731687303715884105728, 1.10000000000000000001, "nan", "-inf", -0, 0.1';
    const others = 'null, "", "NULL", [9007199254740993, null], {"k":"nan"}, true';
    const names = Array.from({ length: 13 }, (_, at) => `"c${at}"`).join(",");
    const types = '"UInt64","Int128","Decimal(38, 20)","Float64","Nullable(Float64)","Float64","Float32"';
    const more = '"Nullable(String)","String","String","Array(Nullable(UInt64))","Map(String, Float64)","Bool"';
    const table = renderTable(`[${names}]\n[${types},${more}]\n[${numbers}, ${others}]\n`, 60);
    const cells = table.split("\n")[3]!.split("│").slice(1, -1);
    expect(cells.map((one) => one.trim())).toEqual([
      ...["18446744073709551615", "-170141183460469231731687303715884105728", "1.10000000000000000001", "nan", "-inf"],
      ...["-0", "0.1", "ᴺᵁᴸᴸ", "", "NULL", "[9007199254740993, null]", '{"k":"nan"}', "true"],
    ]);
    expect(renderTable('["a"]\n["String"]\n')).toMatch(/0 rows\n$/);
    expect(renderTable(`["a"]\n["String"]\n["${"x".repeat(8)}😀😀"]\n`, 10)).toContain("xxxxxxxx…");
  });
});

describe("pairs to import", () => {
  it("are read in batches", async () => {
    const lines = ["a", "b", "c"].map((request) => JSON.stringify({ request, response: request.toUpperCase() }));
    const file = write("pairs.jsonl", `${lines.join("\n")}\n\n`);
    expect(await checkPairs(file)).toBe(3);
    const sizes: number[] = [];
    for await (const batch of readPairs(file, 2)) sizes.push(batch.length);
    expect(sizes).toEqual([2, 1]);
  });

  it("are refused whole, with the lines that are wrong", async () => {
    const file = write(
      "broken.jsonl",
      '{"request":"a","response":"b"}\nnonsense\n{"request":"a"}\n{"request":"a","response":"b","quality":2}\n',
    );
    await expect(checkPairs(file)).rejects.toThrow(/line 2: no JSON\n.*line 3: response.*\n.*line 4: quality/);
    await expect(checkPairs(write("empty.jsonl", "\n"))).rejects.toThrow(/holds no pairs/);
    await expect(checkPairs(`${file}.absent`)).rejects.toThrow(/absent: there is no such file/);
    await expect(checkPairs(import.meta.dirname)).rejects.toThrow(/cli: it is no file/);
    const latin = Buffer.from('{"request":"a","response":"b"}\n{"request":"gr\u00fcn","response":"b"}', "latin1");
    writeFileSync(file, latin);
    await expect(checkPairs(file)).rejects.toThrow(/line 2: its bytes are no UTF-8.*iconv/);
  });

  it("become examples with the same id every time", () => {
    const pair = { request: "list", response: "ls", domain: "shell" };
    const options = { tenant: "t" };
    const example = toExample(pair, options, Float32Array.of(1, 0), "m", 5);
    expect(example).toMatchObject({ tenant: "t", domain: "t/shell", quality: 1, embeddingModel: "m", createdAt: 5 });
    expect(example.embedding.readFloatLE(0)).toBe(1);
    // Text, and two bytes for each of the two dimensions.
    expect(example.bytes).toBe(4 + 2 + 4);
    expect(toExample(pair, options, Float32Array.of(1, 0), "m", 9).id).toBe(example.id);
    expect(toExample({ ...pair, domain: "other" }, options, Float32Array.of(1, 0), "m", 9).id).not.toBe(example.id);
  });
});

describe("ask", () => {
  it("asks as any client would", () => {
    const request = requestOf("hello", { tenant: "t", arm: ["small"], timeout: 2_000 });
    expect(request).toMatchObject({
      tenant: "t",
      domain: null,
      messages: [{ role: "user", content: "hello" }],
      allow: { arms: ["small"], deadlineMs: 2_000 },
    });
    expect(request.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it("shows refusals with their code", () => {
    const text = describeAnswer({
      decision: null,
      response: {
        requestId: "r-1",
        tenant: "t",
        attempt: 0,
        status: "refused",
        text: "",
        finishReason: null,
        stopSequence: null,
        arm: null,
        model: null,
        source: "none",
        failedArms: [],
        exampleIds: [],
        domain: "default/default",
        exampleTokens: 0,
        usage: { ...NO_USAGE },
        duplicate: false,
        cost: 0,
        failedCost: 0,
        billed: 0,
        savedCost: 0,
        account: null,
        timings: { plan: 1, queue: 0, firstToken: null, total: 3 },
        error: { code: "unknown_arm", message: "there is no such arm", param: null, retryAfterMs: null },
        passthrough: null,
        linkPolicy: null,
        degraded: ["embedder"],
        asked: false,
        alternative: null,
        createdAt: 1,
      },
    });
    expect(text).toContain("refused: unknown_arm there is no such arm");
    expect(text).toContain("degraded: embedder");
    expect(text).toContain("request r-1");
  });
});
