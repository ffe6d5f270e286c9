// Ports of the servers: those used last if free, else random ones below the outgoing range. While a
// stack lives a restarted server waits for its port.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const [lowest, highest] = [20_000, 31_999];
const lookMs = 100;

/** Free on 127.0.0.1 now; a server that loses it is restarted. */
export async function freePort(preferred: number | undefined, taken: readonly number[]): Promise<number> {
  if (preferred !== undefined && !taken.includes(preferred) && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port found on 127.0.0.1 between ${lowest} and ${highest}`);
}

/** Resolves when the port is free; rejects after `withinMs`, naming who has it. */
export async function ownPort(name: string, port: number, withinMs: number): Promise<number> {
  const limit = performance.now() + withinMs;
  while (!(await isFree(port))) {
    if (performance.now() >= limit)
      throw new Error(
        `port ${port} of ${name} has been taken by ${listenerOf(port) ?? "another program"} for ${Math.round(withinMs / 1000)} s, ` +
          `and ${name} keeps its port while the stack runs because clients have its address: ` +
          `end that program, or take new ports with "precedent stack stop" and "precedent stack start"`,
      );
    await delay(lookMs);
  }
  return port;
}

/** "process 12 (java -cp ...)", or that it is another user's; undefined: no process listens. */
export function listenerOf(port: number): string | undefined {
  const sockets = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listening(file, port)));
  if (sockets.size === 0) return undefined;
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      try {
        if (!sockets.has(readlinkSync(`/proc/${pid}/fd/${descriptor}`))) continue;
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return `process ${pid} (${command.slice(0, longestCommand)})`;
      } catch {
        // Closed meanwhile.
      }
    }
  }
  return "a program of another user";
}
const longestCommand = 100;

/** Links of the sockets that listen on the port, as they stand in /proc/PID/fd. */
function listening(file: string, port: number): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return text.split("\n").flatMap((line) => {
    // "sl local_address rem_address st ... inode": state 0A is LISTEN.
    const fields = line.trim().split(/\s+/);
    return fields[1]?.endsWith(end) === true && fields[3] === "0A" ? [`socket:[${fields[9]}]`] : [];
  });
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** False where a program listens there; true for an address that is not of this machine. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => settle(code !== "EADDRINUSE"));
    server.listen({ port, host, exclusive: true }, () => server.close(() => settle(true)));
  });
}

/** One for the life of a stack. */
export function createPortKeeper({ withinMs = 30_000 }: { withinMs?: number } = {}) {
  const chosen = new Map<string, number>();
  const kept = new Set<string>();
  return {
    /** The port of a server for its next start. */
    async portFor(name: string, preferred: number | undefined, taken: readonly number[]): Promise<number> {
      const own = chosen.get(name);
      if (own !== undefined && kept.has(name)) return ownPort(name, own, withinMs);
      const port = await freePort(own ?? preferred, taken);
      chosen.set(name, port);
      return port;
    },
    /** Clients may have the port from now on: it is kept. */
    keep: (name: string): void => void kept.add(name),
  };
}
