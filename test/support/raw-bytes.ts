// Seeded byte sequences for an HTTP server's socket: mutations of requests that are right, cut and
// joined anywhere.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { splitmix64 } from "../../algorithms/numeric/random.ts";

const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content: "hi" }] });
const post = (path: string, more = "", content = body): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}` +
  `content-length: ${content.length}\r\n\r\n${content}`;
const right = [
  "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "GET /page/files/a%20b.js?c=%2f&d=1 HTTP/1.1\r\nhost: 127.0.0.1:1\r\nif-none-match: *\r\n\r\n",
  post("/v1/chat/completions"),
  post("/v1/chat/completions", "expect: 100-continue\r\nconnection: keep-alive\r\n"),
  post("/v1/chat/completions", "", body.replace('"model"', '"stream":true,"model"')),
  post("/v1/requests/chatcmpl-1/cancel", "origin: http://localhost\r\nsec-fetch-site: same-origin\r\n", ""),
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntrailer: x-a\r\n` +
    `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)};e=1\r\n${body}\r\n0\r\nx-a: b\r\n\r\n`,
  "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: AAAA\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "HEAD http://localhost/v1/models HTTP/1.0\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
].map((text) => Buffer.from(text));
const pieces = [
  ...["%", "%c0%af", "/%", "//", "/../", "?%00", "*", "\r\n", "\n", "\r", "\0", " ", "\t", ":", "\u0080\u00ff"],
  ...["content-length: -1\r\n", "content-length: 99999999999999999999\r\n", "transfer-encoding: gzip, chunked\r\n"],
  ...["expect: tea\r\n", "host: x\r\n", "content-encoding: br\r\n", "__proto__: a\r\n", "connection: upgrade\r\n"],
  ...["upgrade: h2c\r\n", "x-forwarded-for: a\r\n", "cookie: a=b\r\n", "HTTP/0.9", "HTTP/1.1", "ffffffffffffffff\r\n"],
  ...["\ud800", "é", "a".repeat(3_000), "b: c\r\n".repeat(3_000), `/${"d".repeat(17_000)}`, "[".repeat(200)],
].map((text) => Buffer.from(text, "latin1"));

/** The bytes of a case, and where they are parted. */
export function bytesOf(seed: number): Buffer[] {
  const next = splitmix64(BigInt(seed));
  const below = (most: number): number => Math.floor(next() * most);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  if (below(20) === 0) return [Buffer.from(Array.from({ length: 1 + below(200) }, () => below(256)))];
  let bytes = Buffer.concat(Array.from({ length: 1 + below(3) }, () => pick(right)));
  for (let changes = below(5); changes > 0; changes--) {
    const at = below(bytes.length);
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
    const how = below(5);
    if (how === 0) bytes = Buffer.concat([before, Buffer.of(below(256)), after.subarray(1)]);
    else if (how === 1) bytes = Buffer.concat([before, after.subarray(below(20))]);
    else if (how === 2) bytes = Buffer.concat([before, pick(right).subarray(below(40))]);
    else bytes = Buffer.concat([before, pick(pieces), after]);
    if (bytes.length === 0) bytes = Buffer.of(0);
  }
  const cut = below(bytes.length);
  return below(2) === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)];
}

/** Statuses of the answers; the client leaves after the first one, or where none comes. */
export async function sendBytes(port: number, parts: readonly Buffer[]): Promise<number[]> {
  const socket = connect(port, "127.0.0.1");
  const received: Buffer[] = [];
  socket.on("error", () => undefined);
  socket.on("data", (part: Buffer) => {
    received.push(part);
    socket.end();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const part of parts) {
    if (socket.writable) socket.write(part);
    if (parts.length > 1) await sleep(1);
  }
  const timer = setTimeout(() => socket.end(), 30);
  await closed;
  clearTimeout(timer);
  return [
    ...Buffer.concat(received)
      .toString("latin1")
      .matchAll(/HTTP\/1\.1 (\d{3}) /g),
  ].map(([, code]) => Number(code));
}
