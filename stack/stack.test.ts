// The parts of the stack that need no server.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configSchema } from "../config/schema.ts";
import { attachStack, stackStatus, stopStack } from "./attach.ts";
import { withMutex, writeHolder } from "../connections/process/lock.ts";
import { boundLogs, logTail } from "./logs.ts";
import { createPortKeeper, freePort, listenerOf, ownPort } from "./ports.ts";
import { identify, isAlive } from "../connections/process/identity.ts";
import { end, self, signal } from "./process.ts";
import { chooseConnections } from "./resolve.ts";
import { readState } from "./state.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-stack-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("processes", () => {
  it("knows this one, and no other that has its pid", async () => {
    expect(isAlive(self())).toBe(true);
    const stranger = { ...self(), started: "1@another boot" };
    expect(isAlive(stranger)).toBe(false);
    expect(signal(stranger, "SIGTERM")).toBe(false);
    await end(stranger, 1_000);
    expect(identify(2 ** 22 + 1)).toBeUndefined();
  });
});

describe("withMutex", () => {
  it("lets one in at a time and frees itself after an error", async () => {
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 5 }, () =>
        withMutex(folder, "test", async () => {
          most = Math.max(most, ++inside);
          await new Promise((settle) => setTimeout(settle, 5));
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
    await expect(withMutex(folder, "test", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await withMutex(folder, "test", () => Promise.resolve(1))).toBe(1);
  });

  it("keeps several of one folder apart, also while they are held for long", async () => {
    await withMutex(folder, "outer", async () => {
      await withMutex(folder, "inner", () => Promise.resolve());
      // The library touches a held lock every two seconds; a mixed-up one failed there.
      await new Promise((settle) => setTimeout(settle, 2_300));
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it("says who is busy when the wait is over", async () => {
    await withMutex(folder, "test", async () => {
      await expect(withMutex(folder, "test", () => Promise.resolve(), 200)).rejects.toThrow(/busy with "test"/);
    });
  });
});

describe("freePort", () => {
  it("keeps the preferred port while it is free and takes another when it is not", async () => {
    const port = await freePort(undefined, []);
    expect(await freePort(port, [])).toBe(port);
    expect(await freePort(port, [port])).not.toBe(port);
    const server = createServer();
    await new Promise<void>((settle) => server.listen(port, "127.0.0.1", settle));
    expect(await freePort(port, [])).not.toBe(port);
    await new Promise((settle) => server.close(settle));
  });
});

describe("a server's port", () => {
  const listen = async (port: number): Promise<() => Promise<void>> => {
    const server = createServer();
    await new Promise<void>((settle) => server.listen(port, "127.0.0.1", settle));
    return () => new Promise((settle) => server.close(() => settle()));
  };

  it("is kept once clients may have it: a restart waits while another program holds it", async () => {
    const ports = createPortKeeper({ withinMs: 10_000 });
    const port = await ports.portFor("kafka", undefined, []);
    ports.keep("kafka");
    const close = await listen(port);
    setTimeout(() => void close(), 300);
    expect(await ports.portFor("kafka", undefined, [])).toBe(port);
  });

  it("may change before that, and at the next start of a stack", async () => {
    const ports = createPortKeeper({ withinMs: 100 });
    const port = await ports.portFor("kafka", undefined, []);
    const close = await listen(port);
    const other = await ports.portFor("kafka", undefined, []);
    expect(other).not.toBe(port);
    expect(await createPortKeeper().portFor("kafka", port, [])).not.toBe(port);
    await close();
  });

  it("that stays taken is an error that says by whom, and what to do", async () => {
    const port = await freePort(undefined, []);
    const close = await listen(port);
    expect(listenerOf(port)).toMatch(new RegExp(`^process ${process.pid} `));
    await expect(ownPort("kafka", port, 200)).rejects.toThrow(
      new RegExp(`port ${port} of kafka has been taken by process ${process.pid} .*precedent stack stop`),
    );
    await close();
    expect(listenerOf(port)).toBeUndefined();
  });
});

describe("logs", () => {
  it("are turned over when they are too large", async () => {
    const file = join(folder, "kafka.log");
    await writeFile(file, "a\nb\nc\n");
    await boundLogs(folder, 100);
    expect((await stat(file)).size).toBe(6);
    expect(await logTail(file, 2)).toBe("b\nc");
    await boundLogs(folder, 5);
    expect((await stat(file)).size).toBe(0);
    expect(await readFile(`${file}.1`, "utf8")).toBe("a\nb\nc\n");
    expect(await logTail(join(folder, "none.log"))).toBe("(no log)");
  });
});

describe("without a running stack", () => {
  it("attaching alone is refused and says how to start one", async () => {
    await expect(attachStack(folder, { start: false })).rejects.toThrow(/no stack runs on .*precedent stack start/);
  });

  it("status says that it is stopped, and stopping is no error", async () => {
    const status = await stackStatus(folder);
    expect(status.running).toBe(false);
    expect(status.servers.map((server) => server.status)).toEqual(["stopped", "stopped", "stopped"]);
    expect(await stopStack(folder)).toBe(false);
  });

  it.each(['{"supervisor":', "{}", ""])("a stack.json of %j is reported at once, with what to do", async (text) => {
    const file = join(folder, "stack.json");
    await writeFile(file, text);
    expect(() => readState(file)).toThrow(/stack\.json can't be read .*"precedent stack stop", then/);
    expect(await stopStack(folder)).toBe(false);
    // A supervisor that lives: this process.
    await writeHolder(join(folder, "supervisor.lock"), { ...self(), uses: ["supervisor"] });
    await expect(attachStack(folder, { start: true })).rejects.toThrow(/can't be read .*precedent stack start/);
    expect(await stackStatus(folder)).toMatchObject({
      ...{ running: true, ready: false },
      failure: expect.stringMatching(/can't be read/),
    });
  });

  it("none is no problem", () => {
    expect(readState(join(folder, "stack.json"))).toBeUndefined();
  });
});

describe("chooseConnections", () => {
  const arms = [{ name: "small", type: "recorded", file: "x" }];
  const stack = {
    folder: "/f",
    brokers: ["127.0.0.1:1"],
    registryUrl: "http://127.0.0.1:2/apis/ccompat/v7",
    clickhouse: { url: "http://127.0.0.1:3", username: "default", password: "secret" },
  };

  it("takes the stack for what is not configured", () => {
    expect(chooseConnections(configSchema.parse({ arms }), stack)).toEqual({
      kafka: { brokers: stack.brokers, ssl: false },
      registry: { url: stack.registryUrl },
      clickhouse: { ...stack.clickhouse, database: "precedent" },
    });
  });

  it("replaces the servers one by one", () => {
    const chosen = chooseConnections(
      configSchema.parse({ arms, kafka: { brokers: ["k:9092"], ssl: true }, clickhouse: { database: "other" } }),
      stack,
    );
    expect(chosen.kafka).toEqual({ brokers: ["k:9092"], ssl: true });
    expect(chosen.registry).toEqual({ url: stack.registryUrl });
    expect(chosen.clickhouse).toEqual({ ...stack.clickhouse, database: "other" });
  });

  it("needs no stack when everything is configured", () => {
    const config = configSchema.parse({
      arms,
      kafka: { brokers: ["k:9092"] },
      registry: { url: "http://r:8081", username: "u", password: "p" },
      clickhouse: { url: "http://c:8123", username: "cu", password: "cp" },
    });
    expect(chooseConnections(config, undefined)).toEqual({
      kafka: { brokers: ["k:9092"], ssl: false },
      registry: { url: "http://r:8081", username: "u", password: "p" },
      clickhouse: { url: "http://c:8123", username: "cu", password: "cp", database: "precedent" },
    });
    expect(() => chooseConnections(configSchema.parse({ arms }), undefined)).toThrow(/not all are configured/);
  });
});
