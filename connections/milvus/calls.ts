// Calls of a Milvus server by its own client. Every call has a deadline of our own, since the
// client's does not cover connecting; a client that could not connect is replaced.
import { MilvusClient, type ResStatus } from "@zilliz/milvus2-sdk-node";
import { messageOf } from "../errors.ts";
import { inTime } from "../in-time.ts";
import { MilvusError } from "./port.ts";

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

/** Milvus' code of a collection that is not loaded. */
const notLoaded = 101;
/** Milliseconds of the first call of a client. */
const connectMs = 2_000;
/** gRPC's default waits two minutes before a reconnect; the client's allows answers of any size. */
const channelOptions = {
  ...{ "grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 1_000 },
  "grpc.max_receive_message_length": 256 * 1_048_576,
};

/** Calls reject with MilvusError. */
export function createCalls(options: MilvusOptions) {
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
      channelOptions,
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
    try {
      const asked = client();
      const answer = asked.connectPromise.then(() => work(asked));
      const late = (): Error => new MilvusError("unavailable", `no answer within ${timeoutMs} ms`);
      const result = await inTime(timeoutMs, answer, late);
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
    }
  }

  return {
    /** Milliseconds of a call that names none. */
    usualMs,
    call,
    async close(): Promise<void> {
      isClosed = true;
      const closing = opened;
      opened = undefined;
      await closing?.closeConnection().catch(() => undefined);
    },
  };
}

const isSuccess = ({ error_code, code }: ResStatus): boolean =>
  (String(error_code) === "Success" || Number(error_code) === 0) && Number(code ?? 0) === 0;
