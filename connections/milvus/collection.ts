// A collection of a Milvus server by its own client. Every call has a deadline of our own, since
// the client's does not cover connecting; a client that could not connect is replaced.
import {
  ConsistencyLevelEnum,
  DataType,
  IndexType,
  MetricType,
  MilvusClient,
  type ResStatus,
} from "@zilliz/milvus2-sdk-node";
import { messageOf } from "../errors.ts";
import { type Bounded, type MilvusCollection, MilvusError, type MilvusRow, mostTextBytes } from "./port.ts";

export interface MilvusOptions {
  /** host:port, or an https URL. */
  address: string;
  /** "user:password" or an API key; empty: none. */
  token: string;
  database: string;
  collection: string;
  /** Milliseconds for all calls except searches. */
  timeoutMs?: number;
}

/** Rows of one message: some 4 MB with long texts. */
const rowsAtOnce = 256;
const keysAtOnce = 1_024;
/** Milvus' code of a collection that is not loaded. */
const notLoaded = 101;
/** Milliseconds of the first call of a client. */
const connectMs = 2_000;
/** Longest wait before a reconnect; gRPC's default is two minutes. */
const reconnect = { "grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 1_000 };
const digest = /^[0-9a-f]{32}$/;
const partitions = 64;
const fields = ["key", "group", "generation", "expiresAt", "stamp", "text", "vector"];

export function openMilvus(options: MilvusOptions): MilvusCollection {
  const { address, token, database, collection: collection_name, timeoutMs: usualMs = 10_000 } = options;
  let opened: MilvusClient | undefined;
  let loading: Promise<unknown> | undefined;
  let isClosed = false;

  function client(): MilvusClient {
    if (isClosed) throw new MilvusError("unavailable", "the connection to Milvus was closed");
    if (opened !== undefined) return opened;
    const made = new MilvusClient({
      ...{ address, token, database, timeout: connectMs, maxRetries: 0, logLevel: "error" },
      ssl: address.startsWith("https://"),
      channelOptions: reconnect,
      pool: { min: 1, max: 256 },
    });
    opened = made;
    // A client whose first attempt failed never connects.
    made.connectPromise.catch(() => {
      if (opened === made) opened = undefined;
      void made.closeConnection().catch(() => undefined);
    });
    return made;
  }

  /** Some servers load nothing by themselves when they start again. */
  function loadSoon(asked: MilvusClient): void {
    loading ??= asked
      .loadCollection({ collection_name, timeout: usualMs })
      .catch(() => undefined)
      .finally(() => (loading = undefined));
  }

  async function call<T>(
    what: string,
    timeoutMs: number,
    work: (client: MilvusClient) => Promise<T>,
    statusOf?: (result: T) => ResStatus,
  ): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new MilvusError("unavailable", `no answer within ${timeoutMs} ms`)), timeoutMs);
    });
    try {
      const asked = client();
      const result = await Promise.race([asked.connectPromise.then(() => work(asked)), late]);
      const status = statusOf?.(result);
      // For calls that a server doesn't know the client returns an empty success.
      if (statusOf !== undefined && (status === undefined || !isSuccess(status))) {
        if (status?.code === notLoaded) loadSoon(asked);
        throw new MilvusError(
          status?.code === notLoaded ? "unavailable" : "refused",
          status?.reason ?? "not known to the server",
        );
      }
      return result;
    } catch (error) {
      const code = error instanceof MilvusError ? error.code : "unavailable";
      throw new MilvusError(code, `Milvus at ${address}, ${collection_name}: ${what}: ${messageOf(error)}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }

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
      for (let i = 0; i < rows.length; i += rowsAtOnce) {
        const data = rows.slice(i, i + rowsAtOnce).map((row) => ({ ...row, vector: Array.from(row.vector) }));
        await call(
          "upsert",
          usualMs,
          (c) => c.upsert({ collection_name, data, timeout: usualMs }),
          ({ status }) => status,
        );
      }
    },

    async remove(keys) {
      for (let i = 0; i < keys.length; i += keysAtOnce) {
        const filter = among(keys.slice(i, i + keysAtOnce));
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

    async close() {
      isClosed = true;
      const closing = opened;
      opened = undefined;
      await closing?.closeConnection().catch(() => undefined);
    },
  };
}

const isSuccess = ({ error_code, code }: ResStatus): boolean =>
  (String(error_code) === "Success" || Number(error_code) === 0) && Number(code ?? 0) === 0;

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
