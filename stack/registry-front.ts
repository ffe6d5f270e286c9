// A process in front of the registry, which serves every Host: a web page could reach it under a
// name of its own (DNS rebinding). Requests that name this machine are handed on.
//   registry-front.ts PORT HOST: listens on 127.0.0.1:PORT for the registry on HOST:PORT
// It ends when the registry does, so that nothing is left of a stack whose supervisor was killed.
import { Agent, request as call, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { pipeline } from "node:stream";
import { createGuardedServer } from "../connections/http/guard.ts";
import { isLocalHost } from "../connections/security/local-host.ts";

const port = Number(process.argv[2]);
const host = process.argv[3] ?? "";
const lookMs = 1_000;
/** A registry that has not answered by then never will. */
const startMs = 180_000;

/** As the registry's own errors are. */
const bodyOf = ({ status, message }: { status: number; message: string }) => ({
  type: "application/json",
  text: JSON.stringify({ error_code: status, message }),
});
/** These belong to one connection. */
const ofConnection = ["connection", "keep-alive", "proxy-connection", "upgrade", "expect", "te"];
const handedOn = (headers: IncomingMessage["headers"]): IncomingMessage["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)));

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function handOn(request: IncomingMessage, response: ServerResponse): void {
  const refuse = (status: number, message: string): void => {
    if (response.headersSent) return void response.destroy();
    const { type, text } = bodyOf({ status, message });
    response.writeHead(status, { "content-type": type, connection: "close" }).end(text);
  };
  if (!isLocalHost(request.headers.host)) {
    refuse(403, "Ask the registry under the name localhost.");
    return;
  }
  const options = { host, port, agent, method: request.method, path: request.url, headers: handedOn(request.headers) };
  const forwarded = call(options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, handedOn(answer.headers));
    pipeline(answer, response, () => undefined);
  });
  forwarded.on("error", () => refuse(502, "The registry does not answer."));
  pipeline(request, forwarded, () => undefined);
  response.once("close", () => forwarded.destroy());
}

const server = createGuardedServer(handOn, {
  ...{ maxConnections: 512, requestMs: 60_000, idleMs: 60_000, bodyOf },
  onError: (error) => console.error("The registry's front failed outside of a request:", error),
});
server.on("error", (error) => {
  console.error(`The registry's front can't serve on 127.0.0.1:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(port, "127.0.0.1");

let reached = false;
const since = performance.now();
setInterval(() => {
  const socket = connect(port, host);
  socket.once("connect", () => {
    reached = true;
    socket.destroy();
  });
  socket.once("error", () => {
    if (reached || performance.now() - since > startMs) process.exit(0);
  });
}, lookMs);
