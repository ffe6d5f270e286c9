// Bounds the connections of an HTTP server, so that silent ones shut no client out. One address
// holds at most as many as it leaves free. At a bound the connection that has been idle for
// longest is closed in favour of the new one; one with an open request never is.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The connections of one address; idle: without an open request, idle for longest first. */
interface Holder {
  address: string;
  sockets: number;
  idle: Set<Socket>;
}
interface Held {
  holder: Holder;
  requests: number;
}

/** `most`: connections of all addresses. `onClosed`: one of this address was closed or refused. */
export function boundConnections(server: Server, most: number, onClosed: (address: string) => void): void {
  const holders = new Map<string, Holder>();
  const sockets = new Map<Socket, Held>();
  const idle = new Set<Socket>();

  const setIdle = (socket: Socket, { idle: own }: Holder, isIdle: boolean): void => {
    for (const set of [idle, own]) {
      set.delete(socket);
      if (isIdle) set.add(socket);
    }
  };
  const leave = (socket: Socket): void => {
    const holder = sockets.get(socket)?.holder;
    if (holder === undefined) return;
    sockets.delete(socket);
    setIdle(socket, holder, false);
    if (--holder.sockets === 0) holders.delete(holder.address);
  };
  /** Whether one more may be held, after an idle one was closed for it where that must be. */
  const makeRoom = (own: Holder | undefined): boolean => {
    const free = most - sockets.size;
    if (free > 0 && (own === undefined || own.sockets < free)) return true;
    const [oldest] = own !== undefined && own.idle.size > 0 ? own.idle : free > 0 ? [] : idle;
    if (oldest === undefined) return false;
    onClosed(sockets.get(oldest)?.holder.address ?? "");
    leave(oldest);
    oldest.destroy();
    return true;
  };

  server.on("connection", (socket) => {
    const address = networkOf(socket.remoteAddress);
    if (!makeRoom(holders.get(address))) {
      onClosed(address);
      socket.destroy();
      return;
    }
    // Only now: its last connection may just have been closed.
    const holder = holders.get(address) ?? { address, sockets: 0, idle: new Set() };
    holders.set(address, holder);
    holder.sockets++;
    sockets.set(socket, { holder, requests: 0 });
    setIdle(socket, holder, true);
    socket.once("close", () => leave(socket));
  });
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const held = sockets.get(socket);
    if (held === undefined) return;
    held.requests++;
    setIdle(socket, held.holder, false);
    response.once("close", () => {
      if (--held.requests === 0 && sockets.has(socket)) setIdle(socket, held.holder, true);
    });
  });
}

/** An IPv4 address, or the first half of an IPv6 address: one client has a network of these. */
export function networkOf(address = ""): string {
  const [, v4] = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  if (v4 !== undefined) return v4;
  const [before = "", after] = address.replace(/%.*/, "").split("::");
  const [head, tail] = [before, after ?? ""].map((half) => (half === "" ? [] : half.split(":")));
  const zeros = after === undefined ? 0 : 8 - head!.length - tail!.length;
  return [...head!, ...Array<string>(Math.max(0, zeros)).fill("0"), ...tail!].slice(0, 4).join(":");
}
