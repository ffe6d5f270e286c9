// In front of the registry, which serves every Host: a web page could reach it under a name of its
// own (DNS rebinding). Requests that name this machine are handed on.
import { Agent, request as call, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { pipeline } from "node:stream";
import { createGuardedServer } from "../connections/http/guard.ts";
import { isLocalHost } from "../connections/security/local-host.ts";

export interface RegistryFront {
  close(): Promise<void>;
}

const bounds = { maxConnections: 512, requestMs: 60_000, idleMs: 60_000 };
/** As the registry's own errors are. */
const bodyOf = ({ status, message }: { status: number; message: string }) => ({
  type: "application/json",
  text: JSON.stringify({ error_code: status, message }),
});
/** These belong to one connection. */
const ofConnection = ["connection", "keep-alive", "proxy-connection", "upgrade", "expect", "te"];

/** Listens on 127.0.0.1; `host` is where the registry itself does, at the same port. */
export async function startRegistryFront(port: number, host: string): Promise<RegistryFront> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const handOn = (request: IncomingMessage, response: ServerResponse): void => {
    const refuse = (status: number, message: string): void => {
      if (response.headersSent) return void response.destroy();
      const { type, text } = bodyOf({ status, message });
      response.writeHead(status, { "content-type": type, connection: "close" }).end(text);
    };
    if (!isLocalHost(request.headers.host)) {
      refuse(403, "Ask the registry under the name localhost.");
      return;
    }
    const headers = without(request.headers);
    const forwarded = call({ host, port, agent, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, without(answer.headers));
      pipeline(answer, response, () => undefined);
    });
    pipeline(request, forwarded, (error) => {
      if (error) refuse(502, "The registry does not answer.");
    });
    forwarded.on("error", () => refuse(502, "The registry does not answer."));
    response.once("close", () => forwarded.destroy());
  };
  const server: Server = createGuardedServer(handOn, {
    ...{ ...bounds, bodyOf },
    onError: (error) => console.error("The registry's front failed outside of a request:", error),
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function without(headers: IncomingMessage["headers"]): IncomingMessage["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)));
}
