// Walks Avro bytes without building anything, before avsc, which would believe hostile array
// lengths. Afterwards the record is whole and nothing follows it.

/** Canonical Avro schema, as avsc's Type.schema() returns it. */
type Canonical = string | readonly Canonical[] | Complex;
interface Complex {
  type: string;
  name?: string;
  fields?: readonly { name: string; type: Canonical }[];
  items?: Canonical;
  values?: Canonical;
  size?: number;
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  /** Whether a value may be beyond what avsc reads: who reads skips it. */
  readonly anyNumber: boolean;
}
type Walk = (cursor: Cursor) => void;

/** Why the bytes can't be a record of the schema; null: structurally sound. */
export type BoundsCheck = (bytes: Uint8Array, anyNumber?: boolean) => string | null;

export function createBoundsCheck(schema: unknown): BoundsCheck {
  const walk = compile(schema as Canonical, new Map(), "");
  return (bytes, anyNumber = false) => {
    const cursor = { bytes, at: 0, anyNumber };
    try {
      walk(cursor);
    } catch (error) {
      return error instanceof RangeError ? error.message : String(error);
    }
    return cursor.at === bytes.length ? null : `${bytes.length - cursor.at} bytes too many after the record`;
  };
}

/** path: of the member, as an error message names it. */
function compile(schema: Canonical, named: Map<string, Walk>, path: string): Walk {
  if (typeof schema === "string") return primitive(schema, named, path);
  if (isUnion(schema)) {
    const branches = schema.map((branch) => compile(branch, named, path));
    return (cursor) => {
      const index = readLong(cursor);
      const branch = branches[index];
      if (branch === undefined) throw new RangeError(`no branch ${index} in a union of ${branches.length}`);
      branch(cursor);
    };
  }
  switch (schema.type) {
    case "record":
    case "error": {
      const fields: Walk[] = [];
      // Known before its fields are: a record may contain itself.
      const record: Walk = (cursor) => {
        for (const field of fields) field(cursor);
      };
      if (schema.name !== undefined) named.set(schema.name, record);
      for (const { name, type } of schema.fields ?? [])
        fields.push(compile(type, named, path === "" ? name : `${path}.${name}`));
      return record;
    }
    case "array":
      return blocks(
        compile(schema.items ?? "null", named, path),
        typeof schema.items === "string" ? sizes[schema.items] : undefined,
      );
    case "map": {
      const values = compile(schema.values ?? "null", named, path);
      return blocks((cursor) => {
        skip(cursor, readLong(cursor));
        values(cursor);
      });
    }
    case "enum":
      if (schema.name !== undefined) named.set(schema.name, readIndex);
      return readIndex;
    case "fixed": {
      const size = schema.size ?? 0;
      const fixed: Walk = (cursor) => {
        skip(cursor, size);
      };
      if (schema.name !== undefined) named.set(schema.name, fixed);
      return fixed;
    }
    default:
      return primitive(schema.type, named, path);
  }
}

/** Bytes of what takes the same for every value. */
const sizes: Readonly<Record<string, number>> = { boolean: 1, float: 4, double: 8 };

const isUnion = (schema: Canonical): schema is readonly Canonical[] => Array.isArray(schema);

function primitive(type: string, named: Map<string, Walk>, path: string): Walk {
  switch (type) {
    case "null":
      return () => undefined;
    case "boolean":
      return (cursor) => {
        skip(cursor, 1);
      };
    case "int":
    case "long":
      return (cursor) => {
        readLong(cursor, path === "" ? "a number" : path);
      };
    case "float":
      return (cursor) => {
        skip(cursor, 4);
      };
    case "double":
      return (cursor) => {
        skip(cursor, 8);
      };
    case "string":
    case "bytes":
      return (cursor) => {
        skip(cursor, readLong(cursor));
      };
    default:
      return (cursor) => {
        const walk = named.get(type);
        if (walk === undefined) throw new RangeError(`the writer's schema names an unknown type ${type}`);
        walk(cursor);
      };
  }
}

/** size: of every item; undefined where items differ. */
function blocks(item: Walk, size?: number): Walk {
  return (cursor) => {
    for (;;) {
      let count = readLong(cursor);
      if (count === 0) return;
      if (count < 0) {
        count = -count;
        readLong(cursor);
      }
      // An item takes a byte at least; a claim of more items than bytes is a lie.
      if (count > cursor.bytes.length - cursor.at)
        throw new RangeError(`a list claims ${count} items in too few bytes`);
      if (size !== undefined) skip(cursor, count * size);
      else for (let done = 0; done < count; done++) item(cursor);
    }
  };
}

function skip(cursor: Cursor, size: number): void {
  if (size < 0) throw new RangeError("a length is negative");
  if (size > cursor.bytes.length - cursor.at) throw new RangeError("the record is cut short");
  cursor.at += size;
}

const readIndex: Walk = (cursor) => {
  readLong(cursor);
};

/**
 * Zigzag varint of 10 bytes at most; beyond 2^52 avsc would be silently wrong.
 * value: name of a member; absent for a length, a count or an index.
 */
function readLong(cursor: Cursor, value?: string): number {
  const first = cursor.bytes[cursor.at];
  if (first !== undefined && first < 0x80) {
    cursor.at++;
    return (first >>> 1) ^ -(first & 1);
  }
  let sum = 0;
  let scale = 1;
  for (let read = 0; read < 10; read++) {
    const byte = cursor.bytes[cursor.at];
    if (byte === undefined) throw new RangeError("the record is cut short");
    cursor.at++;
    sum += (byte & 0x7f) * scale;
    if (byte < 0x80 && sum > Number.MAX_SAFE_INTEGER && !(cursor.anyNumber && value !== undefined))
      throw new RangeError(`${value ?? "a number"} is beyond 2^52`);
    if (byte < 0x80) return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
    scale *= 128;
  }
  throw new RangeError("a number is longer than 10 bytes");
}
