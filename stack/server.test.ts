import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive, type ProcessIdentity } from "../connections/process/identity.ts";
import { signal } from "./process.ts";
import { keepRunning, type RunningServer, type ServerEvents, type ServerSpec } from "./server.ts";

let folder: string;
let running: RunningServer[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-server-"));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
});

interface Seen {
  lives: ProcessIdentity[];
  events: string[];
  reason?: string;
}

function keep(script: string, spec: Partial<ServerSpec> = {}): { server: RunningServer; seen: Seen } {
  const seen: Seen = { lives: [], events: [] };
  const events: ServerEvents = {
    started(_, identity) {
      seen.lives.push(identity);
      seen.events.push("started");
    },
    ready: () => seen.events.push("ready"),
    died: (_, how) => seen.events.push(how),
    gaveUp(_, reason) {
      seen.events.push("gave up");
      seen.reason = reason;
    },
  };
  const server = keepRunning(
    {
      name: "kafka",
      stopGraceMs: 2_000,
      prepare: () => Promise.resolve({ command: "sh", args: ["-c", script], env: process.env }),
      probe: () => Promise.resolve(),
      ...spec,
    },
    { logFile: join(folder, "kafka.log"), readyWithinMs: 300, attempts: 2 },
    events,
  );
  running.push(server);
  return { server, seen };
}
const never = (): Promise<void> => Promise.reject(new Error("connection refused"));

describe("keepRunning", () => {
  it("starts a killed server again, and ends it when it is stopped", async () => {
    const ends: boolean[] = [];
    const ended = (clean: boolean): Promise<void> => Promise.resolve(void ends.push(clean));
    const { server, seen } = keep("trap 'exit 0' TERM; while :; do sleep 0.02; done", { ended });
    await server.firstReady;
    const [first] = seen.lives;
    if (first === undefined) throw new Error("not started");
    expect(signal(first, "SIGKILL")).toBe(true);
    await expect.poll(() => seen.events).toEqual(["started", "ready", "ended by SIGKILL", "started", "ready"]);
    await server.stop();
    expect(seen.lives.map(isAlive)).toEqual([false, false]);
    expect(ends).toEqual([false, true]);
  });

  it("gives up a server that ends before it is ready, and shows its log", async () => {
    const { server, seen } = keep("echo the port is taken; exit 7", { probe: never });
    await expect(server.firstReady).rejects.toThrow(/kafka ended with code 7, 2 times in a row[^]*the port is taken/);
    expect(seen.events).toEqual(["started", "ended with code 7", "started", "gave up"]);
    expect(await readFile(join(folder, "kafka.log"), "utf8")).toBe("the port is taken\nthe port is taken\n");
  });

  it("goes on trying a server that was ready before, however often it ends: what it lacks may come back", async () => {
    const lacks = join(folder, "lacks");
    // Ready once; then it ends at once until it has what it lacks.
    const script = `[ -e "${lacks}" ] && exit 7; trap 'exit 0' TERM; while :; do sleep 0.02; done`;
    const probe = (): Promise<void> => (existsSync(lacks) ? never() : Promise.resolve());
    const { server, seen } = keep(script, { probe });
    await server.firstReady;
    await writeFile(lacks, "");
    const [first] = seen.lives;
    if (first !== undefined) signal(first, "SIGKILL");
    const ends = (): number => seen.events.filter((event) => event === "ended with code 7").length;
    await expect.poll(ends, { timeout: 10_000 }).toBeGreaterThan(2);
    await rm(lacks);
    await expect.poll(() => seen.events.at(-1), { timeout: 10_000 }).toBe("ready");
    expect(seen.events).not.toContain("gave up");
  });

  it("ends a server that does not become ready, and says what it answered", async () => {
    const { server, seen } = keep("exec sleep 60", { probe: never });
    await expect(server.firstReady).rejects.toThrow(/was not ready within 0 s \(connection refused\)/);
    expect(seen.lives.map(isAlive)).toEqual([false, false]);
  });

  it("kills a server that ignores SIGTERM", async () => {
    const { server, seen } = keep("trap '' TERM; while :; do sleep 0.02; done", { stopGraceMs: 100 });
    await server.firstReady;
    await server.stop();
    expect(seen.lives.map(isAlive)).toEqual([false]);
  });

  it("leaves nothing running when it is stopped in the middle of a start", async () => {
    const prepare = (): Promise<{ command: string; args: string[]; env: NodeJS.ProcessEnv }> =>
      new Promise((settle) => setTimeout(() => settle({ command: "sleep", args: ["60"], env: process.env }), 50));
    const { server, seen } = keep("", { prepare, probe: never });
    await server.stop();
    await expect(server.firstReady).rejects.toThrow(/was stopped/);
    expect(seen.lives.map(isAlive).includes(true)).toBe(false);
  });

  it("says when there is no such program", async () => {
    const prepare = (): Promise<{ command: string; args: string[]; env: NodeJS.ProcessEnv }> =>
      Promise.resolve({ command: join(folder, "none"), args: [], env: process.env });
    const { server } = keep("", { prepare });
    await expect(server.firstReady).rejects.toThrow(/could not be started: .*ENOENT/);
  });
});
