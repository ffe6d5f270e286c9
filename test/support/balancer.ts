// A load balancer of TCP connections on the loopback: each goes to the next server in turn, and to
// the one after it where that one refuses. It does not read or repeat what it forwards.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Balancer {
  port: number;
  /** Connections that each server has taken so far, by its port. */
  taken(): ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const taken = new Map(ports.map((port) => [port, 0]));
  const open = new Set<Socket>();
  let turn = 0;
  const pass = (client: Socket, first: number, tried = 0): void => {
    const port = ports[(first + tried) % ports.length] ?? 0;
    const server = connect(port, "127.0.0.1");
    const refused = (): void => {
      if (tried + 1 < ports.length && !client.destroyed) pass(client, first, tried + 1);
      else client.destroy();
    };
    server.once("error", refused);
    server.once("connect", () => {
      taken.set(port, (taken.get(port) ?? 0) + 1);
      server.off("error", refused).on("error", () => client.destroy());
      server.once("close", () => client.destroy());
      client.once("close", () => server.destroy());
      // Closed while the server was being tried.
      if (client.destroyed) server.destroy();
      else client.pipe(server).pipe(client);
    });
  };
  const balancer = createServer({ pauseOnConnect: true }, (client) => {
    open.add(client);
    client.on("error", () => client.destroy()).once("close", () => open.delete(client));
    pass(client, turn++);
  });
  await new Promise<void>((resolve) => balancer.listen(0, "127.0.0.1", resolve));
  return {
    port: (balancer.address() as AddressInfo).port,
    taken: () => taken,
    async stop() {
      for (const client of open) client.destroy();
      await new Promise((resolve) => balancer.close(resolve));
    },
  };
}
