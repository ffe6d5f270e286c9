// The embedded stack keeps to this machine and to its owner: what it listens on, who may read its
// files, and what another user gets.
import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { curlLine } from "../../cli/curl.ts";
import { stackStatus } from "../../stack/attach.ts";
import { stackFolder } from "../../stack/folder.ts";
import { makePrivate } from "../../stack/private.ts";
import { tokensOf } from "../../stack/tokens.ts";
import { listeningSockets } from "../support/sockets.ts";
import { testStack } from "../support/stack.ts";

const run = promisify(execFile);

/** What others may do with anything below a folder; links are not followed. */
async function openToOthers(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSymbolicLink()) return [];
  const own = (found.mode & 0o077) === 0 ? [] : [`${path} ${(found.mode & 0o777).toString(8)}`];
  if (!found.isDirectory()) return own;
  const names = await readdir(path).catch(() => []);
  return [...own, ...(await Promise.all(names.map((name) => openToOthers(join(path, name))))).flat()];
}

it("listens on the loopback alone", async () => {
  const { supervisor, servers } = await stackStatus(testStack().folder);
  for (const { name, pid, port } of servers) {
    const sockets = await listeningSockets(pid ?? 0);
    expect(
      sockets.map((socket) => socket.port),
      name,
    ).toContain(port);
    expect(
      sockets.filter(({ isLoopback }) => !isLoopback),
      name,
    ).toEqual([]);
    // Kafka's second one is its controller, the registry's belongs to its transaction manager.
    expect(sockets.length, name).toBe(name === "clickhouse" ? 1 : 2);
  }
  expect(await listeningSockets(supervisor ?? 0)).toEqual([]);
});

it("leaves nothing in its folder that others may read", async () => {
  const { folder } = testStack();
  expect(await openToOthers(folder)).toEqual([]);
  const { mode } = await stat(stackFolder(folder).state);
  expect(mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).sort()).toEqual(expect.arrayContaining(["curlrc", "data", "logs", "stack.json"]));
});

it("writes its tokens into no log", async () => {
  const { folder, clickhouse } = testStack();
  const { write, read } = tokensOf(clickhouse.password);
  const { logs } = stackFolder(folder);
  for (const name of await readdir(logs)) {
    const text = await readFile(join(logs, name), "utf8");
    expect(text.includes(write) || text.includes(read), name).toBe(false);
  }
});

it("takes the rights of others from what an older version left", async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-private-"));
  try {
    await mkdir(join(folder, "logs", "deep"), { recursive: true });
    await writeFile(join(folder, "logs", "deep", "old.log"), "texts");
    await writeFile(join(folder, "program"), "");
    await Promise.all([
      chmod(folder, 0o755),
      chmod(join(folder, "logs"), 0o777),
      chmod(join(folder, "program"), 0o755),
    ]);
    await makePrivate(folder);
    expect(await openToOthers(folder)).toEqual([]);
    expect((await stat(join(folder, "program"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "logs", "deep", "old.log"))).mode & 0o777).toBe(0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("the curl line that is printed works, and carries no token", async () => {
  const { folder, clickhouse } = testStack();
  const line = curlLine(folder, "SELECT 'it''s', currentDatabase()", "system");
  expect(line).not.toContain(tokensOf(clickhouse.password).read);
  expect((await run("sh", ["-c", `${line} -s`])).stdout).toBe("it\\'s\tsystem\n");
  expect((await run("sh", ["-c", `${curlLine(folder, "DROP TABLE x")} -s`])).stdout).toContain("READONLY");
});

it("tells another user of the machine nothing", async ({ skip }) => {
  const asNobody = (...command: string[]) =>
    run("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", ...command]).then(
      ({ stdout }) => stdout,
      (error: { stdout?: string; stderr?: string }) => `${error.stdout ?? ""}${error.stderr ?? ""}`,
    );
  if (process.getuid?.() !== 0 || !(await asNobody("echo", "works")).startsWith("works"))
    skip("needs root and setpriv, to become another user");
  const { folder, clickhouse } = testStack();
  expect(await asNobody("cat", stackFolder(folder).state)).toMatch(/Permission denied/);
  expect(await asNobody("cat", stackFolder(folder).curl)).toMatch(/Permission denied/);
  // The hole that was: a DESCRIBE that shows a file line by line, the token with it.
  const statement = `DESCRIBE TABLE url('file://${stackFolder(folder).state}', 'CSVWithNames')`;
  const search = "format_csv_delimiter=%01&input_format_csv_skip_first_lines=3";
  for (const user of [[], ["-u", "default:"], ["-u", "reader:"], ["-u", "default:guess"]]) {
    const answer = await asNobody("curl", "-s", ...user, `${clickhouse.url}/?${search}`, "--data-binary", statement);
    expect(answer).toContain("AUTHENTICATION_FAILED");
    expect(answer).not.toMatch(/supervisor|version \d/);
    expect(answer).not.toContain(clickhouse.password);
  }
  expect(await asNobody("curl", "-s", `${clickhouse.url}/ping`)).toBe("Ok.\n");
});
