// The ClickHouse facade as a process of its own, on a free port and in a folder that goes away: for
// tests that kill it.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import getPort from "get-port";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import { tokensOf } from "../../stack/tokens.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

export interface Facade {
  url: string;
  /** Token of user default, who writes. */
  token: string;
  /** Token of user reader. */
  readToken: string;
  /** Where its data lies. */
  folder: string;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM; resolves to the exit code. */
  terminate(): Promise<number | null>;
  /** On the same folder and port. */
  start(): Promise<void>;
  /** Ends it and removes the folder. */
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

export async function startFacade(): Promise<Facade> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-clickhouse-"));
  const token = "test-token";
  const port = await getPort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | null = null;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const process = child;
    child = null;
    if (process === null || process.exitCode !== null) return process?.exitCode ?? null;
    const exited = once(process, "exit");
    process.kill(signal);
    await exited;
    return process.exitCode;
  }

  const facade: Facade = {
    url,
    token,
    readToken: tokensOf(token).read,
    folder,
    async start() {
      const started = spawn(process.execPath, ["tools/bin/run.mjs", "stack/facade/main.ts"], {
        cwd: root,
        env: {
          ...process.env,
          PRECEDENT_CLICKHOUSE_PATH: join(folder, "data"),
          PRECEDENT_CLICKHOUSE_PORT: String(port),
          PRECEDENT_CLICKHOUSE_TOKEN: token,
          UV_THREADPOOL_SIZE: "16",
        },
        stdio: ["ignore", "ignore", "inherit"],
      });
      child = started;
      for (;;) {
        if (started.exitCode !== null)
          throw new Error(`The facade ended with ${started.exitCode} before it was ready.`);
        const answer = await fetch(`${url}/ping`).catch(() => null);
        if (answer?.ok) return;
        await delay(50);
      }
    },
    async kill() {
      await end("SIGKILL");
    },
    terminate: () => end("SIGTERM"),
    async remove() {
      await end("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
  await facade.start();
  return facade;
}

export interface MigratedDatabase {
  clickhouse: ClickHouse;
  /** Ends the facade and removes its folder. */
  remove(): Promise<void>;
}

/** A facade with one database, migrated, that nothing leaves by age. */
export async function startDatabase(database: string): Promise<MigratedDatabase> {
  const facade = await startFacade();
  const server = { url: facade.url, username: "default", password: facade.token };
  const admin = createClickHouse(server);
  await migrate(admin, { database, ttlDays: 0 });
  await admin.close();
  const clickhouse = createClickHouse({ ...server, database });
  return {
    clickhouse,
    async remove() {
      await clickhouse.close();
      await facade.remove();
    },
  };
}
