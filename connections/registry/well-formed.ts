// Types for writing records: half a surrogate pair in any string becomes U+FFFD. avsc would write
// bytes that are no UTF-8, which other readers of the topics refuse.
import avro, { type Schema, type Type } from "avsc";

/** What avsc's types have beside their declaration. */
type Writer = new (
  schema?: Schema,
  options?: object,
) => {
  _write(tap: unknown, value: unknown): void;
};

class WellFormedString extends (avro.types.StringType as unknown as Writer) {
  override _write(tap: unknown, text: unknown): void {
    super._write(tap, typeof text === "string" ? text.toWellFormed() : text);
  }
}

class WellFormedMap extends (avro.types.MapType as unknown as Writer) {
  override _write(tap: unknown, map: Record<string, unknown>): void {
    super._write(tap, Object.fromEntries(Object.entries(map).map(([key, value]) => [key.toWellFormed(), value])));
  }
}

/** Throws what avsc does for a schema that is none. */
export const writingType = (schema: Schema): Type =>
  avro.Type.forSchema(schema, {
    typeHook: (one, options) => {
      const kind = typeof one === "object" && "type" in one ? one.type : one;
      if (kind === "string") return new WellFormedString() as unknown as Type;
      return kind === "map" ? (new WellFormedMap(one, options) as unknown as Type) : undefined;
    },
  });
