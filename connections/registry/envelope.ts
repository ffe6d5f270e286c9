// Who asked, of a request that can't be read as a whole: a client that gave an id gets an answer.
import avro, { type Schema, type Type } from "avsc";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Request } from "../../schemas/types.ts";
import { resolverOf } from "./resolve.ts";

/** The request with its other members left out; null: it has no readable id. */
export type EnvelopeReader = (payload: Buffer) => Request | null;

const members = { id: "string", tenant: "string", domain: "string", replyPartition: "int" } as const;

/** For sound bytes of this writer, whose record may have any name. */
export function createEnvelopeReader(writer: Type): EnvelopeReader {
  const readers = Object.entries(members).flatMap(([name, type]) => {
    try {
      const fields = [{ name, type: ["null", type] }];
      const ours = avro.Type.forSchema({ type: "record", name: writer.name, fields } as Schema);
      const resolver = resolverOf(ours, writer);
      return [(payload: Buffer) => ours.fromBuffer(payload, resolver, true) as Partial<Request>];
    } catch {
      // The writer has no such member, or one of another type.
      return [];
    }
  });
  return (payload) => {
    const found: Partial<Request> = {};
    for (const read of readers)
      try {
        for (const [name, value] of Object.entries(read(payload)))
          if (value !== null) Object.assign(found, { [name]: value });
      } catch {
        // This one can't be read: it counts as left out.
      }
    return typeof found.id === "string" && found.id !== "" ? plainRequest("", found) : null;
  };
}
