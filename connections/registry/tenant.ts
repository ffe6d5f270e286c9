// A record's tenant without decoding the rest (1.1 for 2.9 us a KB); "": broken bytes.
import avro, { type Schema, type Type } from "avsc";
import { createBoundsCheck } from "./bounds.ts";
import { resolverOf } from "./resolve.ts";

export type TenantReader = (payload: Buffer) => string;

const request = {
  type: "record",
  name: "precedent.Request",
  fields: [{ name: "tenant", type: "string", default: "" }],
};
/** By the name of the schema: where its tenant stands. */
const wanted: Readonly<Record<string, { schema: object; tenant: (record: unknown) => unknown }>> = {
  request: { schema: request, tenant: (record) => (record as { tenant: string }).tenant },
  work: {
    schema: { type: "record", name: "precedent.Work", fields: [{ name: "request", type: request }] },
    tenant: (record) => (record as { request: { tenant: string } }).request.tenant,
  },
};

/** For records of one of our schemas as this writer writes them; null: tenants are not read. */
export function createTenantReader(schema: string, writer: Type): TenantReader | null {
  const found = wanted[schema];
  if (found === undefined) return null;
  const ours = avro.Type.forSchema(found.schema as Schema);
  const resolver = resolverOf(ours, writer);
  const check = createBoundsCheck(writer.schema());
  return (payload) => {
    if (check(payload) !== null) return "";
    try {
      return String(found.tenant(ours.fromBuffer(payload, resolver, true)));
    } catch {
      return "";
    }
  };
}
