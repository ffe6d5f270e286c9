// Reads an upload of OpenAI's clients: a form with fields and one file, which is handed on as it
// comes. What follows a wrong file is read and dropped, so that the client sees the error.
import { Busboy, type BusboyFileStream, type BusboyHeaders } from "@fastify/busboy";
import type { Readable } from "node:stream";
import { errorOf } from "../../connections/errors.ts";
import { badRequest } from "../errors.ts";
import { mostFileBytes } from "./limits.ts";

export interface Upload<T> {
  fields: ReadonlyMap<string, string>;
  /** Undefined: the form has no part named file. */
  file: T | undefined;
}

const mostFields = 16;

/** store: takes the file named `file`. Rejects with ApiError and as `store` does. */
export function readUpload<T>(
  body: Readable,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  store: (name: string, chunks: AsyncIterable<Buffer>) => Promise<T>,
): Promise<Upload<T>> {
  return new Promise((resolve, reject) => {
    const fields = new Map<string, string>();
    let stored: Promise<T> | undefined;
    let form: InstanceType<typeof Busboy>;
    try {
      form = new Busboy({
        headers: headers as BusboyHeaders,
        // storeFile counts the bytes of the file and refuses first.
        limits: { fields: mostFields, fieldSize: 4_096, files: 1, fileSize: mostFileBytes + 1, parts: 2 * mostFields },
      });
    } catch (error) {
      reject(badRequest(`The body is not a multipart form: ${errorOf(error).message}.`));
      return;
    }
    const fail = (error: unknown): void => {
      body.unpipe(form);
      body.resume();
      reject(errorOf(error));
    };
    form.on("field", (name: string, value: string) => void fields.set(name, value));
    form.on("file", (name: string, stream: BusboyFileStream, filename: string | undefined) => {
      if (name !== "file" || stored !== undefined) {
        stream.resume();
        return;
      }
      stored = store(filename ?? "", stream.iterator({ destroyOnReturn: false }));
      // The form ends only after the whole file was read, so drop the rest; finish reports the
      // error.
      stored.catch(() => stream.resume());
      stream.on("error", () => undefined);
    });
    form.once("finish", () => {
      Promise.resolve(stored).then((file) => resolve({ fields, file }), reject);
    });
    form.once("error", () => fail(badRequest("The form is incomplete or malformed.")));
    body.once("error", fail);
    body.once("close", () => {
      if (!body.readableEnded) fail(badRequest("The connection closed before the upload was complete."));
    });
    body.pipe(form);
  });
}
