// TLS in front of an HTTP server of the embedded stack, which speaks none: what a registry or a
// ClickHouse of one's own looks like to us.
import http from "node:http";
import https from "node:https";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import type { Certificate } from "./certificates.ts";

export interface TlsFront {
  /** https://localhost:port and the path of the server behind. */
  url: string;
  close(): Promise<void>;
}

/** allows: by the header `authorization`; absent: everybody, the server behind decides. */
export async function startTlsFront(
  behind: string,
  { cert, key }: Certificate,
  allows: (authorization: string | undefined) => boolean = () => true,
): Promise<TlsFront> {
  const { hostname, port, pathname } = new URL(behind);
  const options = { cert: await readFile(cert), key: await readFile(key) };
  const server = https.createServer(options, (request, response) => {
    if (!allows(request.headers.authorization)) {
      response.writeHead(401, { "content-type": "application/json" }).end('{"error_code":401,"message":"no"}');
      return;
    }
    const { method, url: path, headers } = request;
    const passed = http.request({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}${pathname === "/" ? "" : pathname}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
