// A collection of a Milvus server: its schema, rows, searches.
import { ConsistencyLevelEnum, DataType, IndexType, MetricType } from "@zilliz/milvus2-sdk-node";
import { createCalls, type MilvusOptions } from "./calls.ts";
import { type Bounded, type MilvusCollection, type MilvusRow, mostTextBytes } from "./port.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

/** Rows of one message: some 4 MB with long texts. */
const rowsAtOnce = 256;
const keysAtOnce = 1_024;
const digest = /^[0-9a-f]{32}$/;
const partitions = 64;
const fields = ["key", "group", "generation", "expiresAt", "stamp", "text", "vector"];

export function openMilvus(options: MilvusOptions): MilvusCollection {
  const { collection: collection_name } = options;
  const { call, usualMs, close } = createCalls(options);
  const exists = async (): Promise<boolean> => {
    const found = await call(
      "hasCollection",
      usualMs,
      (c) => c.hasCollection({ collection_name, timeout: usualMs }),
      ({ status }) => status,
    );
    return found.value === true;
  };
  const consistency = ({ strong = false }: Bounded) => ({
    consistency_level: strong ? ConsistencyLevelEnum.Strong : ConsistencyLevelEnum.Bounded,
  });

  return {
    async facts() {
      const { version } = await call("getVersion", usualMs, (c) => c.getVersion());
      if (!(await exists())) return { version, collection: null };
      const described = await call(
        "describeCollection",
        usualMs,
        (c) => c.describeCollection({ collection_name, timeout: usualMs }),
        ({ status }) => status,
      );
      const counted = await call(
        "getCollectionStatistics",
        usualMs,
        (c) => c.getCollectionStatistics({ collection_name, timeout: usualMs }),
        ({ status }) => status,
      );
      const dimension = Number(described.schema.fields.find(({ name }) => name === "vector")?.dim ?? 0);
      return { version, collection: { dimension, rows: Number(counted.data.row_count) } };
    },

    async create(dimension) {
      const text = (name: string, max_length: number) => ({ name, data_type: DataType.VarChar, max_length });
      const integer = (name: string) => ({ name, data_type: DataType.Int64 });
      if (!(await exists()))
        await call(
          "createCollection",
          usualMs,
          (c) =>
            c.createCollection({
              ...{ collection_name, timeout: usualMs },
              num_partitions: partitions,
              fields: [
                { ...text("key", 32), is_primary_key: true },
                { ...text("group", 32), is_partition_key: true },
                ...["generation", "expiresAt", "stamp"].map(integer),
                text("text", mostTextBytes),
                { name: "vector", data_type: DataType.FloatVector, dim: dimension },
              ],
              index_params: [
                { field_name: "vector", index_type: IndexType.AUTOINDEX, metric_type: MetricType.COSINE, params: {} },
              ],
            }),
          (status) => status,
        );
      await call(
        "loadCollection",
        usualMs,
        (c) => c.loadCollection({ collection_name, timeout: usualMs }),
        (status) => status,
      );
    },

    async drop() {
      await call(
        "dropCollection",
        usualMs,
        (c) => c.dropCollection({ collection_name, timeout: usualMs }),
        (status) => status,
      );
    },

    async upsert(rows) {
      for (const { key, group } of rows) checkDigests([key, group]);
      for (const some of slicesOf(rows, rowsAtOnce)) {
        const data = some.map((row) => ({ ...row, vector: Array.from(row.vector) }));
        await call(
          "upsert",
          usualMs,
          (c) => c.upsert({ collection_name, data, timeout: usualMs }),
          ({ status }) => status,
        );
      }
    },

    async remove(keys) {
      for (const some of slicesOf(keys, keysAtOnce)) {
        const filter = among(some);
        await call(
          "delete",
          usualMs,
          (c) => c.deleteEntities({ collection_name, filter, timeout: usualMs }),
          ({ status }) => status,
        );
      }
    },

    async search({ group, generation, now, vector, k }, bounded) {
      checkDigests([group]);
      if (k === 0) return [];
      const filter = `group == "${group}" && generation == ${integer(generation)} && expiresAt > ${integer(now)}`;
      const { results } = await call(
        "search",
        bounded.timeoutMs,
        (c) =>
          c.search({
            ...{ collection_name, filter, limit: k, timeout: bounded.timeoutMs, ...consistency(bounded) },
            data: Array.from(vector),
            anns_field: "vector",
            output_fields: ["key", "stamp"],
          }),
        ({ status }) => status,
      );
      return results.map(({ key, stamp }) => ({ key: String(key), stamp: Number(stamp) }));
    },

    async read(keys, bounded) {
      if (keys.length === 0) return [];
      const filter = among(keys);
      const { data } = await call(
        "query",
        bounded.timeoutMs,
        (c) =>
          c.query({
            ...{ collection_name, filter, limit: keys.length, timeout: bounded.timeoutMs, ...consistency(bounded) },
            output_fields: fields,
          }),
        ({ status }) => status,
      );
      return data.map((row): MilvusRow => ({
        ...{ key: String(row.key), group: String(row.group), text: String(row.text) },
        ...{ generation: Number(row.generation), expiresAt: Number(row.expiresAt), stamp: Number(row.stamp) },
        vector: Float32Array.from(row.vector as number[]),
      }));
    },

    close,
  };
}

/** RangeError for anything that could be more than a value in an expression. */
function checkDigests(texts: readonly string[]): void {
  for (const text of texts)
    if (!digest.test(text)) throw new RangeError(`${JSON.stringify(text)} is not 32 hexadecimal digits`);
}
function among(keys: readonly string[]): string {
  checkDigests(keys);
  return `key in [${keys.map((key) => `"${key}"`).join(", ")}]`;
}
function integer(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not an integer below 2^53`);
  return value;
}
