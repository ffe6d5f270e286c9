// What a sink (sink.ts) does to records, as a value: decode, batch, and what rows pass on their way
// into the store. It is described and bound as a pipeline is (pipeline.ts).
//   sinkPipeline()
//     .decode("decode", createDecode)
//     .batch("batch", createBatch)
//     .through("redact", createRedact)
//     .insert("insert", createInsert)
import type { Batch, SinkDependencies } from "./rows.ts";

export type InsertRows = SinkDependencies["insert"];

interface Onward {
  insert: InsertRows;
}

export interface SinkPipeline<Dependencies, Decode> {
  readonly operators: readonly string[];
  bind(dependencies: Dependencies): { decode: Decode; batch: Batch; insert: InsertRows };
}

interface Rows<Dependencies, Decode> {
  through<Own extends Onward>(
    operator: string,
    create: (dependencies: Own) => InsertRows,
  ): Rows<Dependencies & Omit<Own, "insert">, Decode>;
  insert<Own>(operator: string, create: (dependencies: Own) => InsertRows): SinkPipeline<Dependencies & Own, Decode>;
}

interface Batched<Dependencies, Decode> {
  batch<Own>(operator: string, create: (dependencies: Own) => Batch): Rows<Dependencies & Own, Decode>;
}

export const sinkPipeline = () => ({
  decode: <Own, Decode>(decode: string, createDecode: (dependencies: Own) => Decode): Batched<Own, Decode> => ({
    batch: (batch, createBatch) =>
      rows([decode, batch], (dependencies: never) => ({
        decode: createDecode(dependencies),
        batch: createBatch(dependencies),
      })),
  }),
});

type Through = (dependencies: object) => InsertRows;

function rows<Dependencies, Decode>(
  operators: readonly string[],
  first: (dependencies: never) => { decode: Decode; batch: Batch },
  passed: readonly Through[] = [],
): Rows<Dependencies, Decode> {
  return {
    // The chain of calls is checked by their types; the list of steps can't be.
    through: (operator, create) => rows([...operators, operator], first, [...passed, create as unknown as Through]),
    insert: (operator, create) => ({
      operators: [...operators, operator],
      bind: (dependencies) => ({
        ...first(dependencies as never),
        insert: passed.reduceRight((insert, step) => step({ ...dependencies, insert }), create(dependencies)),
      }),
    }),
  };
}
