// kafkajs' connection against a server that answers by script: what a former socket brings must not
// reach the one after it.
import net from "node:net";
import { createRequire } from "node:module";
import { afterEach, expect, test } from "vitest";
import { internals, type ConnectionLike } from "./kafkajs-internals.ts";
import "./kafkajs.ts";

interface Asked {
  socket: net.Socket;
  /** Length, correlation id and a text, as a broker answers. */
  answer: Buffer;
  /** 1 for the first socket. */
  which: number;
}
interface Connection extends ConnectionLike {
  send(protocol: { request: object; response: object }): Promise<string>;
  disconnect(): Promise<unknown>;
}

const require = createRequire(import.meta.url);
const Encoder = require("kafkajs/src/protocol/encoder") as new () => object;
const Connection = internals.Connection as unknown as new (options: object) => Connection;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };
const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/**
 * A scripted server and a connection to it. `welcome` false: the server says goodbye in the middle
 * of that connection's handshake.
 */
async function setUp(onRequest: (asked: Asked) => void, welcome: (which: number) => boolean = () => true) {
  const sockets: net.Socket[] = [];
  // It says goodbye on demand, as a busy broker does it late.
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const which = sockets.push(socket);
    if (!welcome(which)) socket.end();
    socket.on("error", () => undefined);
    socket.on("data", (request) => {
      // Length, key and version come before the correlation id.
      const correlationId = request.readInt32BE(8);
      const answer = Buffer.alloc(8 + 60, "a");
      answer.writeInt32BE(answer.length - 4, 0);
      answer.writeInt32BE(correlationId, 4);
      onRequest({ socket, answer, which });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const connection = new Connection({
    ...{ host: "127.0.0.1", port, logger: silent, connectionTimeout: 2_000, requestTimeout: 1_000 },
    socketFactory: (at: { host: string; port: number; onConnect: () => void }) =>
      net.connect({ host: at.host, port: at.port }, welcome(sockets.length + 1) ? at.onConnect : undefined),
  });
  open.push({
    close() {
      for (const socket of sockets) socket.destroy();
      connection.socket?.destroy();
      server.close();
    },
  });
  const ask = async (): Promise<string> => {
    await connection.connect();
    return connection.send({
      request: { apiKey: 3, apiVersion: 0, apiName: "Test", encode: () => Promise.resolve(new Encoder()) },
      response: {
        decode: (text: Buffer) => Promise.resolve({ text: text.toString() }),
        parse: ({ text }: { text: string }) => Promise.resolve(text),
      },
    });
  };
  return { connection, sockets, ask };
}
const answered = "a".repeat(60);

test.each([
  ["closed", (socket: net.Socket) => socket.end()],
  ["reset", (socket: net.Socket) => socket.resetAndDestroy()],
])("an answer cut off by a connection that is %s is not continued by the next one", async (_, cut) => {
  const { ask } = await setUp(({ socket, answer, which }) => {
    if (which > 1) socket.write(answer);
    else socket.write(answer.subarray(0, 30), () => setTimeout(() => cut(socket), 20));
  });
  await expect(ask()).rejects.toThrow(/Closed connection|ECONNRESET/);
  expect(await ask()).toBe(answered);
  expect(await ask()).toBe(answered);
});

test("the late goodbye of a former socket leaves the requests of its successor alone", async () => {
  const { connection, sockets, ask } = await setUp(({ socket, answer, which }) => {
    if (which === 1) socket.write(answer);
    else {
      sockets[0]?.end();
      setTimeout(() => socket.write(answer), 50);
    }
  });
  expect(await ask()).toBe(answered);
  await connection.disconnect();
  expect(await ask()).toBe(answered);
  expect(connection.isConnected()).toBe(true);
});

test("who connects at the same time shares one socket", async () => {
  const { connection, sockets, ask } = await setUp(({ socket, answer }) => socket.write(answer));
  await Promise.all([connection.connect(), connection.connect()]);
  expect(await ask()).toBe(answered);
  expect(sockets).toHaveLength(1);
});

test("a goodbye before the connection is made is a failure, and the next attempt is a new one", async () => {
  const { ask } = await setUp(
    ({ socket, answer }) => socket.write(answer),
    (which) => which > 1,
  );
  await expect(ask()).rejects.toThrow("closed before it was made");
  expect(await ask()).toBe(answered);
});

test("a connection whose socket has closed is disconnected any number of times without more listeners", async () => {
  const { connection } = await setUp(() => undefined);
  await connection.connect();
  const { socket } = connection;
  socket?.destroy();
  for (let i = 0; i < 20; i++) await connection.disconnect();
  expect(socket?.listenerCount("connect")).toBeLessThanOrEqual(2);
});
