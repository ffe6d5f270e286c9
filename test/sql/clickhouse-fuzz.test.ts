// 3,000 statements (npm run soak: 10,000) that try to leave the database (support/sql-fuzz.ts),
// each through the real facade with a token: no file is read or written, no server is contacted, no
// table changes by the read token, and the facade keeps running. PRECEDENT_FUZZ_SEED tries others.
import { access, readdir, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { startFacade, type Facade } from "../support/clickhouse.ts";
import { sqlFuzz } from "../support/sql-fuzz.ts";

const statements = process.env["PRECEDENT_FULL_COUNTS"] === undefined ? 3_000 : 10_000;
const seed = Number(process.env["PRECEDENT_FUZZ_SEED"] ?? 1);
const marker = "marker-of-the-secret-file";

let facade: Facade;
let canary: Server;
let calls = 0;
beforeAll(async () => {
  facade = await startFacade();
  canary = createServer((socket) => {
    calls += 1;
    socket.on("error", () => undefined).end();
  });
  await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  canary.close();
  await facade.remove();
});

async function ask(token: string, sql: string, search = ""): Promise<{ code: string | null; text: string }> {
  const response = await fetch(`${facade.url}/?database=fuzz${search}`, {
    method: "POST",
    body: sql,
    headers: { "X-ClickHouse-Key": token },
    signal: AbortSignal.timeout(30_000),
  });
  return { code: response.headers.get("x-clickhouse-exception-code"), text: await response.text() };
}

it(`${statements} statements, seed ${seed}: none gets out`, { timeout: 240_000 }, async () => {
  const victim = "CREATE TABLE IF NOT EXISTS fuzz.victim (a String) ENGINE = MergeTree ORDER BY a";
  for (const sql of ["CREATE DATABASE fuzz", victim, "INSERT INTO fuzz.victim VALUES ('kept')"])
    await fetch(facade.url, { method: "POST", body: sql, headers: { "X-ClickHouse-Key": facade.token } });
  // One inside of the folder of the database, one beside it.
  const secrets = [join(facade.folder, "secret"), join(facade.folder, "data", "user_files_secret")];
  for (const secret of secrets) await writeFile(secret, `${marker},1\n`, { mode: 0o600 });
  const out = join(facade.folder, "written");
  const random = splitmix64(seed);
  const address = `127.0.0.1:${(canary.address() as AddressInfo).port}`;
  const sources = secrets.map((secret) => sqlFuzz(random, { secret, out, canary: address }));
  const state = async (): Promise<string> => {
    const tables =
      "SELECT database, name, create_table_query, total_rows FROM system.tables WHERE database = 'fuzz' ORDER BY ALL";
    return (await ask(facade.readToken, tables)).text + (await ask(facade.readToken, "SELECT * FROM victim")).text;
  };
  const before = await state();
  const codes = new Map<string, number>();
  const leaks: string[] = [];

  let done = 0;
  const lane = async (token: string, until: number): Promise<void> => {
    while (done < until) {
      const number = done++;
      // A writer may drop it.
      if (token === facade.token && number % 20 === 0) await ask(token, victim);
      const { sql, search } = sources[number % 2]!();
      const { code, text } = await ask(token, sql, search);
      codes.set(code ?? "answered", (codes.get(code ?? "answered") ?? 0) + 1);
      if (text.includes(marker)) leaks.push(sql);
    }
  };
  const run = (token: string, until: number) => Promise.all(Array.from({ length: 6 }, () => lane(token, until)));
  await run(facade.readToken, statements / 2);
  expect(await state()).toBe(before);
  await run(facade.token, statements);

  expect(leaks).toEqual([]);
  expect(calls).toBe(0);
  await expect(access(out)).rejects.toThrow();
  expect((await readdir(facade.folder)).sort()).toEqual(["data", "secret"]);
  expect(done).toBe(statements);
  // Most of them are refused for what they ask, not for how they are written.
  const refused = (codes.get("164") ?? 0) + (codes.get("497") ?? 0) + (codes.get("452") ?? 0);
  expect(refused).toBeGreaterThan(statements / 3);
  console.log(
    `seed ${seed}: ${[...codes]
      .sort((a, b) => b[1] - a[1])
      .map(([code, n]) => `${code} ${n}`)
      .join(", ")}`,
  );
  expect((await ask(facade.readToken, "SELECT 1")).text).toBe("1\n");
  expect(await facade.terminate()).toBe(0);
});
