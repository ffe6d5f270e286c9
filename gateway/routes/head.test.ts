import pino from "pino";
import { expect, it } from "vitest";
import { localCaller } from "../local.ts";
import { addFiles } from "../page/files.ts";
import { createServer } from "../server.ts";
import { addHealth } from "./api.ts";
import { addModels } from "./models.ts";

it("answers HEAD where monitors and clients probe as GET, without the body", async () => {
  const server = createServer({ maxBodyBytes: 1_024, slowReaderMs: 1_000, log: pino({ level: "silent" }) });
  const page = { body: Buffer.from("<html>"), type: "text/html", etag: '"1"' };
  addFiles(server, new Map([["index.html", page]]));
  addHealth(server, () => ({ joined: true, partitions: 1 }));
  addModels(server, { callerOf: localCaller, arms: () => [{ name: "small", model: "m" }], started: 1 });
  for (const url of ["/", "/healthz", "/v1/models", "/v1/models/small", "/v1/models/none", "/v1/none"]) {
    const [head, get] = await Promise.all([
      server.inject({ method: "HEAD", url }),
      server.inject({ method: "GET", url }),
    ]);
    expect(head.body, url).toBe("");
    expect([head.statusCode, head.headers["content-type"]], url).toEqual([get.statusCode, get.headers["content-type"]]);
    expect(get.statusCode, url).toBe(url.endsWith("none") ? 404 : 200);
  }
  await server.close();
});
