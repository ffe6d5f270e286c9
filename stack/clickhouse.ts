// The embedded ClickHouse: the facade process (facade/main.ts) with chdb, whose store takes one
// process and whose crash must not take a stage along.
import { mkdir } from "node:fs/promises";
import { projectFolder, script } from "./process.ts";
import type { ServerSpec } from "./server.ts";
import { tokensOf } from "./tokens.ts";

export interface ClickHouseOptions {
  folder: string;
  /** The write token; that of readers follows from it. */
  token: string;
  port(): Promise<number>;
}

export const clickhouseUser = "default";

export function clickhouseUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** A file for curl -K: command lines are visible to all users. */
export function curlConfiguration(port: number, token: string): string {
  return [
    '# Reads ClickHouse: curl -K curlrc --data "SELECT count() FROM precedent.requests"',
    `url = "${clickhouseUrl(port)}/"`,
    'header = "X-ClickHouse-User: reader"',
    `header = "X-ClickHouse-Key: ${tokensOf(token).read}"`,
    "",
  ].join("\n");
}

export function clickhouseServer({ folder, token, port }: ClickHouseOptions): ServerSpec {
  let current = 0;
  return {
    name: "clickhouse",
    stopGraceMs: 15_000,
    async prepare() {
      current = await port();
      await mkdir(folder, { recursive: true });
      return {
        command: process.execPath,
        args: script("facade/main.ts"),
        cwd: projectFolder,
        env: {
          ...process.env,
          // Statements run on libuv's pool, whose size can't be changed from within; see
          // facade/main.ts.
          UV_THREADPOOL_SIZE: "16",
          PRECEDENT_CLICKHOUSE_PATH: folder,
          PRECEDENT_CLICKHOUSE_PORT: String(current),
          PRECEDENT_CLICKHOUSE_TOKEN: token,
        },
      };
    },
    async probe() {
      const answer = await fetch(`${clickhouseUrl(current)}/ping`, { signal: AbortSignal.timeout(5_000) });
      const text = await answer.text();
      if (!answer.ok || !text.startsWith("Ok.")) throw new Error(`/ping answers ${answer.status}: ${text}`);
    },
  };
}
