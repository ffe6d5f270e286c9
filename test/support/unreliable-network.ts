// A network that fails between this process and one port of 127.0.0.1: connections made to the port
// go through a forwarder that can cut them. Kafka's clients connect to the address that the broker
// tells them, so net.connect is bent; the sockets, and what happens to them, are real.
import net from "node:net";

/**
 * close, reset: at once. half: with half of the next response delivered. unanswered: when the next
 * request was forwarded, before its response. stall: no data passes, without an error, until a
 * reset after a while. delay: all data comes a while later.
 */
export const cuts = ["close", "reset", "half", "unanswered", "stall", "delay"] as const;
export type Cut = (typeof cuts)[number];

export interface UnreliableNetwork {
  /** Cuts one of the connections, if there is any; index is taken modulo their number. */
  cut(index: number, how: Cut): void;
  /**
   * Lets nothing through for so long, on no connection, and then everything: a broker, or the way
   * to it, that is slow.
   */
  hold(milliseconds: number): Promise<void>;
  /** Lets connections be, and gives net.connect back. */
  stop(): Promise<void>;
}

const stallMs = 1_000;
const delayMs = 2_000;

export async function createUnreliableNetwork(port: number): Promise<UnreliableNetwork> {
  const connect = net.connect;
  const lines = new Set<{ plan?: Cut; client: net.Socket; broker: net.Socket }>();
  let held = 0;
  const forwarder = net.createServer((client) => {
    const broker = connect({ host: "127.0.0.1", port });
    const line: { plan?: Cut; client: net.Socket; broker: net.Socket } = { client, broker };
    lines.add(line);
    if (held > 0) client.pause();
    const end = (): void => {
      lines.delete(line);
      broker.destroy();
    };
    client.on("data", (request) => {
      if (line.plan === "stall") return;
      broker.write(request);
      if (line.plan === "unanswered") client.resetAndDestroy();
    });
    broker.on("data", (answer) => {
      if (line.plan === "stall") return;
      if (line.plan !== "half") client.write(answer);
      // Closed, so that the half arrives; a reset may take it back.
      else client.end(answer.subarray(0, Math.ceil(answer.length / 2)), () => broker.destroy());
    });
    client.on("close", end).on("error", end);
    broker.on("close", () => client.end()).on("error", () => client.resetAndDestroy());
  });
  await new Promise<void>((resolve) => forwarder.listen(0, "127.0.0.1", resolve));
  const bent = (forwarder.address() as net.AddressInfo).port;
  net.connect = ((options: net.NetConnectOpts, ...rest: []) =>
    connect(
      "port" in options && options.port === port ? { ...options, port: bent } : options,
      ...rest,
    )) as typeof connect;

  return {
    cut(index, how) {
      const line = [...lines][index % Math.max(1, lines.size)];
      if (line === undefined) return;
      if (how === "delay") {
        const delayed = [line.client, line.broker];
        for (const socket of delayed) socket.pause();
        setTimeout(() => delayed.forEach((socket) => socket.resume()), delayMs);
        return;
      }
      line.plan = how;
      if (how === "close") line.client.end();
      if (how === "reset") line.client.resetAndDestroy();
      if (how === "stall") setTimeout(() => line.client.resetAndDestroy(), stallMs);
    },
    async hold(milliseconds) {
      held++;
      for (const { client, broker } of lines) for (const socket of [client, broker]) socket.pause();
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      if (--held > 0) return;
      for (const { client, broker } of lines) for (const socket of [client, broker]) socket.resume();
    },
    async stop() {
      net.connect = connect;
      for (const { client } of lines) client.destroy();
      await new Promise((resolve) => forwarder.close(resolve));
    },
  };
}
