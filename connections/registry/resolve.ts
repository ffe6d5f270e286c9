// Reads records as a writer's schema has them, by Avro's rules where avsc is stricter: names count
// without their namespace, and of a writer's union only the branch that a record has must fit ours.
import avro, { type Resolver, type Type } from "avsc";
import { messageOf } from "../errors.ts";

type Create = (this: Type, writer: Type, options?: object) => Resolver;

/** What avsc has beside its declaration; it calls this for the types within, too. */
const types = avro.Type.prototype as unknown as { createResolver: Create };
const strict = types.createResolver;

interface Tap {
  readLong(): number;
}
interface Reads {
  _read(tap: Tap, lazy?: boolean): unknown;
}

types.createResolver = function (writer, options) {
  if (!writer.typeName.startsWith("union")) return strict.call(this, writer, options);
  const branches = (writer as unknown as { types: readonly Type[] }).types.map((branch) =>
    branchOf(this, branch, options),
  );
  const [first] = branches;
  if (first instanceof Error && branches.every((branch) => branch instanceof Error)) throw first;
  const read: Reads["_read"] = (tap, lazy) => {
    const branch = branches[tap.readLong()];
    if (branch === undefined || branch instanceof Error) throw branch ?? new Error("no such branch of a union");
    return (branch as unknown as Reads)._read(tap, lazy);
  };
  const resolver: unknown = { _readerType: this, _read: read };
  return resolver as Resolver;
};

function branchOf(ours: Type, branch: Type, options?: object): Resolver | Error {
  try {
    return ours.createResolver(branch, options);
  } catch (error) {
    return new Error(messageOf(error));
  }
}

/** Throws where no record of the writer's could be read. */
export const resolverOf = (ours: Type, writer: Type): Resolver =>
  ours.createResolver(writer, { ignoreNamespaces: true });
