// A server that no longer listens ends each connection with the answer under way. Node.js keeps
// those that clients keep alive: a busy one would be served on until all is cut off.
import type { Server, ServerResponse } from "node:http";

/** Before other listeners, which may answer at once. */
export function endWithLastAnswers(server: Server): void {
  const open = new Set<ServerResponse>();
  server.prependListener("request", ({ socket }, response: ServerResponse) => {
    open.add(response);
    if (!server.listening) response.shouldKeepAlive = false;
    // The head of an answer that streams may have promised otherwise.
    response.once("finish", () => {
      if (!server.listening) socket.end();
    });
    response.once("close", () => open.delete(response));
  });
  const close = server.close.bind(server);
  server.close = (done) => {
    for (const response of open) response.shouldKeepAlive = false;
    return close(done);
  };
}
