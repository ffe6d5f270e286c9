// The embedded ClickHouse and the port over it: migrations, types, who may do what, and that nothing acknowledged is lost. Needs no Kafka.
import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { migrate, MigrationError, readMigrations } from "../connections/clickhouse/migrate.ts";
import { ClickHouseRejected, ClickHouseUnavailable, type ClickHouse } from "../connections/clickhouse/port.ts";
import { startFacade, type Facade } from "./support/clickhouse.ts";

const run = promisify(execFile);
const database = "precedent_test";
const options = { database, ttlDays: 90 };

let facade: Facade;
let writer: ClickHouse;
let reader: ClickHouse;

beforeAll(async () => {
  facade = await startFacade();
  writer = createClickHouse({ url: facade.url, username: "default", password: facade.token, database });
  reader = createClickHouse({ url: facade.url, username: "reader", password: facade.readToken, database });
  const admin = createClickHouse({ url: facade.url, username: "default", password: facade.token });
  const names = (await readMigrations()).map(({ version, name }) => `${String(version).padStart(4, "0")}_${name}`);
  expect(await migrate(admin, options)).toEqual(names);
  await admin.close();
});
afterAll(async () => {
  await writer.close();
  await reader.close();
  await facade.remove();
});

/** Status, code and text of a raw request. */
async function ask(query: string, given: { search?: string; headers?: Record<string, string>; method?: string } = {}) {
  const init = { ...given, headers: given.headers ?? asReader() };
  const address = `${facade.url}/?database=${database}${init.search ?? ""}`;
  const response = await fetch(
    init.method === "GET" ? `${address}&query=${encodeURIComponent(query)}` : address,
    init.method === "GET" ? { headers: init.headers } : { method: "POST", body: query, headers: init.headers },
  );
  const code = response.headers.get("x-clickhouse-exception-code");
  return { status: response.status, code, text: await response.text() };
}
const asReader = () => ({ "X-ClickHouse-User": "reader", "X-ClickHouse-Key": facade.readToken });
const asWriter = () => ({ "X-ClickHouse-User": "default", "X-ClickHouse-Key": facade.token });

describe("migrations", () => {
  it("apply once, also when several processes start at the same time", async () => {
    const other = { ...options, database: "precedent_test_twice" };
    const results = await Promise.all([migrate(writer, other), migrate(writer, other), migrate(writer, other)]);
    expect(results.flat().length).toBeGreaterThanOrEqual(2);
    expect(await migrate(writer, other)).toEqual([]);
    const recorded = await writer.query(`SELECT version FROM ${other.database}.migrations FINAL ORDER BY version`);
    expect(recorded).toEqual((await readMigrations()).map(({ version }) => ({ version })));
  });

  it("refuse a file that changed after it was applied", async () => {
    const changed = (await readMigrations()).map((file) => ({ ...file, checksum: `${file.checksum}!` }));
    await expect(migrate(writer, options, changed)).rejects.toThrow(MigrationError);
  });

  it("follow a change of clickhouse.ttlDays", async () => {
    const ttl = async (): Promise<string[]> => {
      const rows = await writer.query<{ engine_full: string }>(
        `SELECT engine_full FROM system.tables WHERE database = {database:String} AND name = 'requests'`,
        { database },
      );
      return rows.flatMap(({ engine_full }) => /toIntervalDay\(\d+\)/.exec(engine_full) ?? []);
    };
    await migrate(writer, { ...options, ttlDays: 7 });
    expect(await ttl()).toEqual(["toIntervalDay(7)"]);
    await migrate(writer, { ...options, ttlDays: 0 });
    expect(await ttl()).toEqual([]);
    await migrate(writer, options);
    expect(await ttl()).toEqual(["toIntervalDay(90)"]);
  });
});

describe("the port", () => {
  it("gives back what was inserted, of every type that tables have", async () => {
    await writer.command(`CREATE TABLE IF NOT EXISTS types (
      id Int64, big UInt64, x Float64, text String, flag Bool, at DateTime64(3, 'UTC'), word LowCardinality(Nullable(String)),
      list Array(Tuple(name String, values Array(Float64))), map Map(String, Float64)
    ) ENGINE = MergeTree ORDER BY id`);
    const row = {
      id: -42,
      big: 9_007_199_254_740_991,
      x: 0.1,
      text: 'tab\t newline\n quote\' "double" back\\slash {brace} 漢字 🙂',
      flag: true,
      at: "2026-03-01 12:00:00.123",
      word: null,
      list: [{ name: "a", values: [1.5, -2] }],
      map: { share: 0.25 },
    };
    await writer.insert("types", [row]);
    expect(await writer.query("SELECT * FROM types")).toEqual([row]);
    const parameters = { text: row.text, list: [1, 2], at: new Date("2026-03-01T12:00:00.123Z"), none: null };
    expect(
      await writer.query(
        `SELECT {text:String} AS text, {list:Array(Int64)} AS list, {at:DateTime64(3, 'UTC')} AS at, {none:Nullable(String)} AS none`,
        parameters,
      ),
    ).toEqual([{ ...parameters, at: row.at }]);
  });

  it("says whether an error may pass or never will", async () => {
    await expect(writer.query("SELECT * FROM nowhere")).rejects.toMatchObject({
      name: "ClickHouseRejected",
      code: "60",
    });
    await expect(writer.insert("types", [{ id: "not a number" }])).rejects.toBeInstanceOf(ClickHouseRejected);
    await expect(reader.command("DROP TABLE types")).rejects.toMatchObject({ name: "ClickHouseRejected", code: "164" });
    const stranger = createClickHouse({ url: facade.url, username: "default", password: "wrong", database });
    await expect(stranger.query("SELECT 1")).rejects.toMatchObject({ name: "ClickHouseRejected", code: "516" });
    await stranger.close();
    const nobody = createClickHouse({ url: "http://127.0.0.1:9", username: "default", password: "" });
    await expect(nobody.query("SELECT 1")).rejects.toBeInstanceOf(ClickHouseUnavailable);
    expect(await nobody.ping()).toBe(false);
    await nobody.close();
    const impatient = createClickHouse({
      url: facade.url,
      username: "reader",
      password: facade.readToken,
      requestTimeoutMs: 100,
    });
    await expect(impatient.query("SELECT sleep(1)")).rejects.toBeInstanceOf(ClickHouseUnavailable);
    await impatient.close();
    await expect(
      writer.query("SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000"),
    ).rejects.toMatchObject({ name: "ClickHouseUnavailable" });
  });
});

describe("with the read token", () => {
  it("reads", async () => {
    expect(await reader.query("SELECT count() AS rows FROM requests")).toEqual([{ rows: 0 }]);
    expect((await ask("WITH 1 AS one SELECT one")).text).toBe("1\n");
    expect((await ask("SHOW TABLES LIKE 'req%'")).text).toBe("requests\n");
    expect((await ask("SELECT 'INTO OUTFILE', 'file(x)' -- ; SELECT 2")).text).toBe("INTO OUTFILE\tfile(x)\n");
    expect((await ask("SELECT getSetting('max_threads')", { search: "&max_threads=1" })).text).toBe("1\n");
  });

  it.each([
    ["a write", "INSERT INTO types (id) VALUES (1)", "164"],
    ["another table", "CREATE TABLE stolen (a Int8) ENGINE = Memory", "164"],
    ["a second statement", "SELECT 1; DROP TABLE types", "62"],
    ["a file written", "SELECT 1 INTO /* x */ OUTFILE '/tmp/precedent-stolen'", "164"],
    ["a file written, behind a name with a quote", "SELECT 1 AS `it's` INTO OUTFILE '/tmp/precedent-stolen'", "164"],
    ["a file read by a table function", "SELECT * FROM file('/etc/hostname', 'LineAsString')", "164"],
    ["a file read by a function", "SELECT file('/etc/hostname')", "164"],
    ["a file read by a function passed on", "SELECT arrayMap(`file`, ['/etc/hostname'])", "164"],
    ["a file read as a table", "SELECT * FROM default.`/etc/hostname`", "60"],
    ["a query in a string", "SELECT * FROM eval('SELECT 1')", "164"],
    ["the network", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", "164"],
    ["other queries ended", "KILL QUERY WHERE 1", "164"],
    ["readonly undone", "SELECT 1 SETTINGS readonly = 0", "164"],
    ["nothing", "", "62"],
  ])("is refused %s", async (_what, query, code) => {
    expect(await ask(query)).toMatchObject({ code });
    expect(await ask(query, { search: "&readonly=0&user=reader" })).toMatchObject({ code });
    await expect(access("/tmp/precedent-stolen")).rejects.toThrow();
  });

  it("is refused as anybody else, or under another name of the host", async () => {
    expect(await ask("SELECT 1", { search: "&user=root" })).toMatchObject({ status: 403, code: "516" });
    expect(await ask("SELECT 1", { search: "&user=default&password=no" })).toMatchObject({ status: 403, code: "516" });
    const { stdout } = await run("curl", ["-s", "-H", "Host: example.com", `${facade.url}/?query=SELECT+1`]);
    expect(stdout).toContain("AUTHENTICATION_FAILED");
  });

  it("GET only reads, even with the token; one statement at a time is for everybody", async () => {
    const insert = "INSERT INTO types (id) VALUES (1)";
    expect(await ask(insert, { method: "GET", headers: asWriter() })).toMatchObject({ code: "164" });
    expect(await ask("SELECT 1; SELECT 2", { headers: asWriter() })).toMatchObject({ code: "62" });
  });
});

describe("over curl", () => {
  const curl = async (...args: string[]) =>
    await run("curl", ["-sg", "-H", `X-ClickHouse-Key: ${facade.readToken}`, ...args], { encoding: "buffer" });

  it("answers in Parquet, JSON, CSV, and with gzip", async () => {
    const url = `${facade.url}/?database=${database}`;
    const parquet = (await curl(url, "-d", "SELECT number FROM numbers(10) FORMAT Parquet")).stdout;
    expect(parquet.subarray(0, 4).toString()).toBe("PAR1");
    expect(parquet.subarray(-4).toString()).toBe("PAR1");
    const json = (await curl(`${url}&default_format=JSON&query=SELECT+{x:Int32}+AS+x&param_x=7`)).stdout;
    expect(JSON.parse(json.toString())).toMatchObject({ data: [{ x: 7 }], rows: 1 });
    const csv = (await curl(url, "-H", "X-ClickHouse-Format: CSV", "-d", "SELECT 1, 'a'")).stdout;
    expect(csv.toString()).toBe('1,"a"\n');
    const zipped = await curl("--compressed", "-i", `${url}&enable_http_compression=1`, "-d", "SELECT 1");
    expect(zipped.stdout.toString()).toMatch(/content-encoding: gzip[\s\S]*\n1\n$/i);
    expect((await curl(`${facade.url}/ping`)).stdout.toString()).toBe("Ok.\n");
  });
});

describe("under load and under kill -9", () => {
  it("a slow query holds neither /ping nor inserts", async () => {
    const slow = writer.query("SELECT sum(sleepEachRow(0.5)) AS s FROM numbers(6)");
    const finished: string[] = [];
    const watch = slow.then(() => finished.push("slow"));
    const id = 1_000;
    await Promise.all(Array.from({ length: 20 }, (_, index) => writer.insert("types", [{ id: id + index }]))).then(() =>
      finished.push("inserts"),
    );
    expect(await writer.ping()).toBe(true);
    finished.push("ping");
    await watch;
    expect(finished).toEqual(["inserts", "ping", "slow"]);
    expect(await reader.query(`SELECT count() AS rows FROM types WHERE id >= ${id}`)).toEqual([{ rows: 20 }]);
  });

  it("every acknowledged row is there after kill -9", async () => {
    await writer.command("CREATE TABLE IF NOT EXISTS killed (id UInt32) ENGINE = MergeTree ORDER BY id");
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round++) {
      const inserting = Array.from({ length: 4 }, async (_, lane) => {
        for (let index = 0; ; index++) {
          const ids = Array.from({ length: 50 }, (_, row) => ((round * 4 + lane) * 1_000 + index) * 50 + row);
          try {
            await writer.insert(
              "killed",
              ids.map((id) => ({ id })),
            );
          } catch (error) {
            expect(error).toBeInstanceOf(ClickHouseUnavailable);
            return;
          }
          acknowledged.push(...ids);
        }
      });
      const enough = acknowledged.length + 1_000;
      while (acknowledged.length < enough) await new Promise((resolve) => setTimeout(resolve, 5));
      await facade.kill();
      await Promise.all(inserting);
      await facade.start();
    }
    const rows = await writer.query<{ id: number }>("SELECT DISTINCT id FROM killed");
    const there = new Set(rows.map(({ id }) => id));
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
  });

  it("ends cleanly on SIGTERM and comes back with its data", async () => {
    const before = await reader.query("SELECT count() AS rows FROM killed");
    expect(await facade.terminate()).toBe(0);
    await access(join(facade.folder, "data"));
    await facade.start();
    expect(await reader.query("SELECT count() AS rows FROM killed")).toEqual(before);
  });
});
