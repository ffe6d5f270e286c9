// milvus-lite for tests: a Milvus server of one process, from PyPI, in a Python environment in the
// user's cache that is made once. Tests skip with its reason where it can't be had.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheFolder } from "../../config/assets.ts";
import { messageOf } from "../errors.ts";
import { pythonWith } from "../python/python.ts";

export interface Lite {
  address: string;
  pid(): number;
  /** As kill -9 does. */
  kill(): Promise<void>;
  /** With the same data and address. */
  start(): Promise<void>;
  /** Also removes its data. */
  stop(): Promise<void>;
}

const startMs = 120_000;

/** A running server, or why there is none. */
export async function startLite(): Promise<Lite | { reason: string }> {
  let python: string;
  try {
    python = await pythonWith(
      ["milvus_lite", "pymilvus"],
      ["milvus-lite==3.2.2", "pymilvus==3.0.2"],
      join(cacheFolder(), "milvus-lite"),
      () => undefined,
    );
  } catch (error) {
    return { reason: `milvus-lite can't be installed by pip: ${messageOf(error)}` };
  }
  const folder = await mkdtemp(join(tmpdir(), "precedent-milvus-"));
  const port = await freePort();
  let server: ChildProcess | undefined;

  const kill = async (): Promise<void> => {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const ended = once(ending, "exit");
    ending.kill("SIGKILL");
    await ended;
  };
  const start = async (): Promise<void> => {
    const script = [
      "import os, sys, threading",
      // It ends with this process, however that ends.
      "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()",
      "from milvus_lite.cmdline import main",
      "sys.exit(main())",
    ].join("\n");
    const where = ["--data-dir", folder, "--host", "127.0.0.1", "--port", String(port)];
    const started = spawn(python, ["-c", script, "server", ...where], { stdio: ["pipe", "ignore", "pipe"] });
    let errors = "";
    started.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
    server = started;
    const until = Date.now() + startMs;
    while (!(await answers(port))) {
      if (Date.now() > until) throw new Error(`milvus-lite does not listen after ${startMs} ms: ${errors}`);
      if (started.exitCode !== null) throw new Error(`milvus-lite ended with ${started.exitCode}: ${errors}`);
      await sleep(50);
    }
  };
  try {
    await start();
  } catch (error) {
    await kill();
    return { reason: messageOf(error) };
  }
  return {
    ...{ address: `127.0.0.1:${port}`, kill, start },
    pid: () => server?.pid ?? 0,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
