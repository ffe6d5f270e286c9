// The TCP sockets on which a process listens, from /proc: which ports of ours can be reached from
// where.
import { readFile, readdir, readlink } from "node:fs/promises";

/**
 * Local addresses as /proc/net writes them that only this machine reaches: 127.0.0.0/8, ::1 and
 * ::ffff:127.0.0.0/104.
 */
const loopback = /^(?:(?:0{16}F{4}0{4})?[0-9A-F]{6}7F|0{24}01000000)$/;

export interface Listening {
  port: number;
  isLoopback: boolean;
}

export async function listeningSockets(pid: number): Promise<Listening[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8")));
  return tables.flatMap((table) =>
    table
      .split("\n")
      .slice(1)
      .flatMap((line) => {
        const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        const [address = "", port = ""] = local.split(":");
        // 0A: listening.
        return state === "0A" && own.has(inode)
          ? [{ port: Number.parseInt(port, 16), isLoopback: loopback.test(address) }]
          : [];
      }),
  );
}

/** Connections of clients that the listener of a port holds, on this machine. */
export async function connectionsOn(port: number): Promise<number> {
  const table = await readFile("/proc/net/tcp", "utf8");
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table.split("\n").filter((line) => {
    const [, from = "", , state] = line.trim().split(/\s+/);
    // 01: established; 08: its client has gone, and it has not closed yet.
    return from.endsWith(local) && (state === "01" || state === "08");
  }).length;
}
