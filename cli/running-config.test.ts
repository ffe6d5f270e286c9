import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordRunning, hashOfFile } from "../stack/running.ts";
import { recordedId } from "./request-id.ts";
import { runCommand } from "./run.testing.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "precedent-running-config-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text = "arms: [{ name: a, type: llama }]"): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
/** As if this process ran the system of the folder. */
const runs = (file: string | null, hash = hashOfFile(file)): void => {
  recordRunning(join(folder, ".precedent"), { file, hash, stages: ["plan"], ready: true });
};
const sql = async (...argv: string[]): Promise<string> => (await runCommand(folder, ["sql", "SELECT 1", ...argv])).note;

describe("a command beside a running system", () => {
  it("reads its configuration where it has none of its own", async () => {
    const file = write("other.yaml");
    runs(file);
    expect(await sql()).toContain(`reading ${file}, the configuration of the running system`);
  });

  it("reports that it reads another one", async () => {
    const [mine, other] = [write("precedent.yaml"), write("other.yaml")];
    runs(other);
    expect(await sql()).toMatch(new RegExp(`reads ${mine}, but process ${process.pid}.*name that with -c`));
    expect(await sql("-c", other)).not.toMatch(/note:|reading/);
  });

  it("reports that the file has changed since", async () => {
    const file = write("precedent.yaml");
    runs(file);
    expect(await sql()).not.toMatch(/note:|reading/);
    write("precedent.yaml", "arms: [{ name: b, type: llama }]");
    expect(await sql()).toMatch(/has changed since process \d+ read it/);
  });

  it("needs no variable that only arms name, unless it calls them", async () => {
    const arm =
      "{ name: a, type: openai, baseUrl: '${THEIR_URL}', apiKey: '${THEIR_KEY}', model: gpt-4o, prices: catalogue }";
    write(
      "precedent.yaml",
      `arms: [${arm}, { name: b, type: openai, baseUrl: "http://\${HOST}/v1", model: m, cost: 1 }]`,
    );
    for (const argv of [
      ["sql", "SELECT 1"],
      ["ask", "x"],
      ["explain", "r"],
      ["stack", "token"],
      ["keys", "create"],
      ["export", "log.jsonl"],
      ["select", "x"],
      ["policy", "evaluate", "a"],
    ])
      expect((await runCommand(folder, argv)).note).toMatch(/^error: no stack runs/);
    expect((await runCommand(folder, ["stack", "stop"])).code).toBe(0);
    expect((await runCommand(folder, ["up"])).note).toMatch(/THEIR_URL is not set[^]*THEIR_KEY[^]*HOST/);
    // A variable of a server is needed by all.
    write("precedent.yaml", "clickhouse: { password: '${PASSWORD}' }\narms: [{ name: a, type: llama }]");
    expect(await sql()).toMatch(/PASSWORD is not set/);
  });

  it("reports a system that runs by the defaults, or none", async () => {
    runs(null);
    expect(await sql()).not.toMatch(/note:|reading/);
    write("precedent.yaml");
    expect(await sql()).toMatch(/started with the defaults/);
  });

  it("fails at once where a file stands in place of the state folder", async () => {
    write(".precedent", "");
    expect(await runCommand(folder, ["up"])).toMatchObject({
      code: 1,
      note: expect.stringMatching(/^error: the state folder .*can't be used .*stack\.folder\n$/),
    });
    rmSync(join(folder, ".precedent"));
    mkdirSync(join(folder, ".precedent"));
    writeFileSync(join(folder, ".precedent", "data"), "");
    expect((await runCommand(folder, ["up"])).note).toMatch(/data is no folder/);
  });

  it("says its version", async () => {
    expect(await runCommand(folder, ["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+/) });
  });
});

describe("the id of a request", () => {
  const knowing = (...ids: string[]) => ({
    query: <T>(_sql: string, given?: Record<string, unknown>): Promise<T[]> =>
      Promise.resolve(ids.filter((id) => id === given?.["given"]).map((id) => ({ id })) as T[]),
  });

  it.each(["chatcmpl-r1", "msg_r1", "resp_r1", "r1"])("may be that of the answer: %s", async (given) => {
    expect(await recordedId(knowing("r1"), given)).toBe("r1");
  });

  it("is the client's own where one looks alike", async () => {
    expect(await recordedId(knowing("msg_r1", "r1"), "msg_r1")).toBe("msg_r1");
  });
});
