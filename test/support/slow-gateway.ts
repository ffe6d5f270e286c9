// The gateway's server and its streams without the stages, as a process of its own for
// gateway-slow-readers.test.ts: /stream is an answer much longer than what sockets hold, in pieces
// and a rest; /brisk is a short one. Ends with its parent.
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { pino } from "pino";
import { createChunks } from "../../gateway/api/chunks.ts";
import { aResponse } from "../../gateway/responses.testing.ts";
import { createServer } from "../../gateway/server.ts";
import { openStream } from "../../gateway/stream.ts";
import { createUnsent } from "../../gateway/unsent.ts";

export interface Started {
  port: number;
}
/** Unsent now, at most when answers ended, and how many were disconnected for it so far. */
export interface Held {
  now: number;
  most: number;
  cuts: number;
  /** Bytes of heap and buffers in use at most, without garbage, beyond those of the start. */
  inUse: number;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
/** Bytes in use after a full collection: garbage depends on how busy the machine is. */
function bytesInUse(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
const sampleMs = 200;
const slowReaderMs = 30_000;
const pieces = 5;
const piece = "word ".repeat(8_000);
let cuts = 0;
let most = 0;
const unsent = createUnsent({ maxBytes: Number(process.argv[2]), onCut: () => cuts++ });
const server = createServer({
  ...{ maxBodyBytes: 1_024, slowReaderMs, unsent, log: pino({ level: "silent" }) },
  maxConnections: 4_096,
});
const answer = (path: string, text: string): void => {
  server.get(path, (_request, reply) => {
    const chunks = createChunks({ requestId: "r", model: "m", created: 1, includeUsage: false });
    const stream = openStream(reply, { chunks, heartbeatMs: 60_000, slowReaderMs, unsent });
    const of = { requestId: "r", tenant: "t", attempt: 1, calls: [], blocks: [], thoughts: null, createdAt: 1 };
    for (let index = 0; index < pieces - 1; index++) stream.delta({ ...of, index, text });
    stream.finish(aResponse({ text: text.repeat(pieces) }));
    most = Math.max(most, unsent.total());
    return reply;
  });
};
answer("/stream", piece);
answer("/brisk", "word ");
server.get("/held", () => ({ now: unsent.total(), most, cuts, inUse }));
await server.listen({ host: "127.0.0.1", port: 0, backlog: 2_048 });
const atStart = bytesInUse();
let inUse = 0;
setInterval(() => (inUse = Math.max(inUse, bytesInUse() - atStart)), sampleMs);
process.send?.({ port: (server.server.address() as AddressInfo).port } satisfies Started);
process.once("disconnect", () => process.exit());
