// The embedded ClickHouse's process, started by the supervisor with PRECEDENT_CLICKHOUSE_PATH,
// _PORT, _TOKEN and UV_THREADPOOL_SIZE=16 (statements run on libuv's pool). chdb is imported here:
// loaded first in a worker it crashed at exit.
import "chdb";
import { createEngine } from "./engine.ts";
import { tokensOf } from "../tokens.ts";
import { createFacade } from "./server.ts";

// Files that chdb writes are readable by their owner only.
process.umask(0o077);

const mebibyte = 1024 ** 2;

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. The facade is started by the stack; see stack/facade/main.ts.`);
  return value;
}

const path = required("PRECEDENT_CLICKHOUSE_PATH");
const token = required("PRECEDENT_CLICKHOUSE_TOKEN");
const port = Number(required("PRECEDENT_CLICKHOUSE_PORT"));
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  throw new Error(`PRECEDENT_CLICKHOUSE_PORT is no port: ${port}`);

// Two threads stay free: for gzip and files, and for ending a query.
const threads = Math.max(3, Number(process.env["UV_THREADPOOL_SIZE"] ?? 4) - 2);
const width = Math.max(1, Math.min(4, Math.floor(threads / 3)));
const engine = createEngine({
  path,
  readers: width,
  askers: width,
  writers: width,
  maxQueued: 256,
  stuck(reason) {
    // The supervisor starts another one; acknowledged rows are on disk.
    console.error(`The ClickHouse facade ends: ${reason}`);
    process.exit(70);
  },
});
const limits = { maxBodyBytes: 128 * mebibyte, maxTotalBodyBytes: 384 * mebibyte };
const server = createFacade({ tokens: tokensOf(token), ...limits }, engine);

server.on("error", (error) => {
  console.error(`The ClickHouse facade can't serve on 127.0.0.1:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(port, "127.0.0.1", () => {
  const address = server.address();
  const bound = typeof address === "object" && address ? address.port : port;
  console.log(`ClickHouse ${engine.version} (chdb) on http://127.0.0.1:${bound}, data in ${path}`);
});

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  // What runs is given five seconds; acknowledged rows are on disk whatever happens.
  setTimeout(() => process.exit(0), 5_000).unref();
  await new Promise((resolve) => server.close(resolve));
  await engine.close();
  process.exit(0);
}
process.on("SIGTERM", () => void stop());
process.on("SIGINT", () => void stop());
