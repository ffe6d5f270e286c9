// The built page (tools/setup/build-page.ts) in memory: index.html at /, others by hashed names. No
// data, so no key.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../errors.ts";
import { setHeaders } from "./headers.ts";
import { isMissing } from "../../connections/errors.ts";

interface File {
  body: Buffer;
  type: string;
  etag: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Empty where set-up has not built them. */
export function readFiles(folder: string): ReadonlyMap<string, File> {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return new Map();
    throw error;
  }
  return new Map(
    names.flatMap((name) => {
      const type = types[extname(name)];
      if (type === undefined) return [];
      const body = readFileSync(join(folder, name));
      return [[name, { body, type, etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"` }]];
    }),
  );
}

export function addFiles(server: FastifyInstance, files: ReadonlyMap<string, File>): void {
  const send = (name: string, cacheControl: string, incoming: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const file = files.get(name);
    if (file === undefined)
      throw new ApiError({
        ...{ status: 404, code: "unknown_url" },
        message: files.size === 0 ? "The page is not built: npm run setup." : "There is no such file.",
      });
    setHeaders(reply, cacheControl);
    void reply.header("etag", file.etag);
    if (incoming.headers["if-none-match"] === file.etag) return reply.code(304).send();
    return reply.type(file.type).send(file.body);
  };
  server.get("/", { exposeHeadRoute: true }, (incoming, reply) => send("index.html", "no-cache", incoming, reply));
  server.get<{ Params: { name: string } }>("/page/files/:name", (incoming, reply) =>
    send(incoming.params.name, "public, max-age=31536000, immutable", incoming, reply),
  );
}
