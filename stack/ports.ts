// Ports of the servers: the one used last time when it is free (clients of a restarted stack then just reconnect),
// else a random one below the range from which the system takes ports for outgoing connections.
import { createServer } from "node:net";

const [lowest, highest] = [20_000, 31_999];

/** A free port on 127.0.0.1. Another process may still take it before the server does; the server then fails and is started anew. */
export async function freePort(preferred: number | undefined, taken: readonly number[]): Promise<number> {
  if (preferred !== undefined && !taken.includes(preferred) && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port found on 127.0.0.1 between ${lowest} and ${highest}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", () => settle(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => settle(true)));
  });
}
