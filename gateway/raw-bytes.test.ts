// Bytes at the gateway's socket, each case a seeded mutation of requests that are right, cut and
// joined anywhere: no exception leaves a request, no answer is a 500, and the server answers on.
import type { AddressInfo } from "node:net";
import pino from "pino";
import { expect, it } from "vitest";
import { bytesOf, sendBytes } from "../test/support/raw-bytes.ts";
import { addAccess } from "./access.ts";
import { createConnectionLimit } from "./connection-limit.ts";
import { localCaller } from "./local.ts";
import { addFiles } from "./page/files.ts";
import { aResponse } from "./responses.testing.ts";
import { addCancel } from "./routes/cancel.ts";
import { addChat } from "./routes/chat.ts";
import { addHealth } from "./routes/api.ts";
import { createServer } from "./server.ts";

/** npm run soak sends all of them, npm test some. */
const count = process.env.PRECEDENT_FULL_COUNTS === undefined ? 4_000 : 100_000;
const atOnce = 64;

async function start() {
  const logged: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void logged.push(line) });
  const server = createServer({ maxBodyBytes: 65_536, slowReaderMs: 60_000, log });
  const callerOf = addAccess(server, { callerOf: localCaller, mustBeAdmin: localCaller, feedbackBy: localCaller });
  const connectionLimit = createConnectionLimit(1_024);
  addChat(server, {
    ...{ callerOf, clock: Date.now, streams: { heartbeatMs: 60_000, slowReaderMs: 60_000 } },
    arms: () => [{ name: "small", model: "small-1" }],
    ask: ({ id, tenant }) => Promise.resolve(aResponse({ requestId: id, tenant })),
  });
  addCancel(server, { callerOf, connectionLimit, cancel: { ask: () => Promise.resolve() } });
  addHealth(server, () => ({ joined: true, partitions: 1 }));
  addFiles(server, new Map());
  await server.listen({ port: 0, host: "127.0.0.1" });
  return { server, logged, connectionLimit, port: (server.server.address() as AddressInfo).port };
}

it(`${count} mutated and random byte sequences: no exception, no 500`, { timeout: 600_000 }, async () => {
  const { server, logged, connectionLimit, port } = await start();
  const statuses = new Map<number, number>();
  let seed = 0;
  const client = async (): Promise<void> => {
    while (seed < count) {
      const mine = seed++;
      for (const status of await sendBytes(port, bytesOf(mine))) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect(status, `seed ${mine}`).toBeLessThan(500);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  expect(logged).toEqual([]);
  expect(connectionLimit.open()).toBe(0);
  // All kinds of refusals were reached.
  for (const status of [200, 400, 404, 405, 415, 417, 431])
    expect(statuses.get(status) ?? 0, `${status}`).toBeGreaterThan(5);
  expect(await sendBytes(port, [Buffer.from("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")])).toEqual([200]);
  await server.close();
});
