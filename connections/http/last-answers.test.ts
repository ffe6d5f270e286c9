// Over real sockets: what a client that keeps its connection sees of a server that is stopping.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { endWithLastAnswers } from "./last-answers.ts";

let server: Server;
let socket: Socket;
let seen = "";
/** Ends each answer under way. */
let answers: (() => void)[] = [];

async function start(): Promise<void> {
  [seen, answers] = ["", []];
  server = createServer({ keepAliveTimeout: 60_000 }, ({ url }, response) => {
    if (url === "/stream") response.write("begun,");
    answers.push(() => response.end("fine"));
  });
  endWithLastAnswers(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("data", (part: Buffer) => (seen += part.toString()));
  await once(socket, "connect");
}
afterEach(() => {
  socket.destroy();
  server.closeAllConnections();
  server.close();
});

async function ask(path: string): Promise<void> {
  const arrived = once(server, "request");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
  await arrived;
}
it("keeps a connection while the server listens", async () => {
  await start();
  for (const path of ["/", "/stream"]) {
    await ask(path);
    answers.shift()?.();
  }
  await expect.poll(() => seen).toMatch(/connection: keep-alive[^]*connection: keep-alive[^]*fine\r\n0\r\n\r\n$/i);
  expect(socket.readyState).toBe("open");
});

it("says with an answer under way that it is the last, and ends the connection", async () => {
  await start();
  await ask("/");
  const closed = new Promise((resolve) => server.close(resolve));
  answers.shift()?.();
  await once(socket, "end");
  expect(seen).toMatch(/^connection: close\r$/im);
  expect(seen).toMatch(/fine$/);
  await closed;
});

it("ends the connection with a stream that had begun before", async () => {
  await start();
  await ask("/stream");
  await expect.poll(() => seen).toContain("begun,");
  const closed = new Promise((resolve) => server.close(resolve));
  answers.shift()?.();
  await once(socket, "end");
  expect(seen).toMatch(/fine\r\n0\r\n\r\n$/);
  await closed;
});

it("answers a request that comes meanwhile, as the last of its connection", async () => {
  await start();
  await ask("/");
  server.close();
  // Both are on their way when the first answer is sent.
  await ask("/stream");
  for (const end of answers.splice(0)) end();
  await once(socket, "end");
  expect(seen).toMatch(/^connection: close\r$/im);
});
