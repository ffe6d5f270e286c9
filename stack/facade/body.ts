// Request bodies, whole and bounded, each and over all; gzip is undone within the bounds.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { isUtf8 } from "node:buffer";
import { DatabaseError, notImplemented, tooManyQueries } from "./errors.ts";

export function createBodyReader(limits: { maxBytes: number; maxTotalBytes: number }) {
  let total = 0;

  return {
    /**
     * The body, in UTF-8, and what gives its share of the bound back. Rejects with DatabaseError.
     */
    async read(request: IncomingMessage): Promise<{ bytes: Buffer; release: () => void }> {
      let size = 0;
      const release = (): void => {
        total -= size;
        size = 0;
      };
      try {
        const chunks: Buffer[] = [];
        for await (const chunk of decoded(request)) {
          if (!Buffer.isBuffer(chunk)) continue;
          size += chunk.length;
          total += chunk.length;
          if (size > limits.maxBytes)
            throw new DatabaseError(
              131,
              "TOO_LARGE_STRING_SIZE",
              `The body is over ${limits.maxBytes} bytes; split it.`,
            );
          if (total > limits.maxTotalBytes)
            throw tooManyQueries(`Bodies of all requests are over ${limits.maxTotalBytes} bytes; try again later.`);
          chunks.push(chunk);
        }
        const bytes = Buffer.concat(chunks);
        if (!isUtf8(bytes))
          throw notImplemented(
            "Only text formats can be inserted here (JSONEachRow, CSV, TSV ...): the body is not UTF-8.",
          );
        return { bytes, release };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

function decoded(request: IncomingMessage): Readable {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return request;
  if (encoding !== "gzip") throw notImplemented(`Content-Encoding ${encoding} is not served here; use gzip.`);
  const gunzip = createGunzip();
  request.once("error", (error) => gunzip.destroy(error));
  return request.pipe(gunzip);
}
