// Bytes on disk for the chunk caches of an arm, where they share the learnt byte budget: as the
// newest version of the policy says that ClickHouse has. Best effort: while it can't be asked they
// stay as they are.
import type { Logger } from "pino";
import type { Arm } from "../../arms/arm.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { BYTE_BUDGET, type ByteBudgetBody, createByteBudgetTable } from "../policies/byte-budget.ts";
import { policyHistory } from "../policies/history.ts";
import { repeat } from "../../runtime/repeat.ts";

const everyMs = 15_000;

export interface CacheByteBudgetOptions {
  arm: string;
  clickhouse: Pick<ClickHouse, "query">;
  /** Of the configuration. */
  fixed: ByteBudgetBody;
  log: Logger;
}

/** undefined: the caches of this arm have a budget of their own. Rejects as the port does. */
async function cacheBytes({
  arm,
  clickhouse,
  fixed,
}: Omit<CacheByteBudgetOptions, "log">): Promise<number | undefined> {
  if (fixed.caches[arm] === undefined) return undefined;
  const table = createByteBudgetTable(fixed);
  for (const version of await policyHistory(clickhouse, BYTE_BUDGET, { limit: 1 })) table.apply(version);
  return table.current().caches[arm];
}

/** The same before the arm is opened, with what is configured while it is not known. */
export async function firstCacheBytes({ log, ...options }: CacheByteBudgetOptions): Promise<number | undefined> {
  return cacheBytes(options).catch((error: unknown) => {
    log.warn({ err: error, arm: options.arm }, "the learnt byte budget of chunk caches is not known yet");
    return options.fixed.caches[options.arm];
  });
}

/** Until it is stopped. `first`: bytes that the arm was opened with. */
export function followCacheByteBudget(
  arm: Pick<Arm, "resizeCaches">,
  options: CacheByteBudgetOptions & { first: number },
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let obeyed = options.first;
  const pass = async (): Promise<boolean> => {
    const bytes = await cacheBytes(options);
    if (bytes === undefined || bytes === obeyed) return false;
    await arm.resizeCaches?.(bytes);
    options.log.info({ arm: options.arm, bytes, before: obeyed }, "chunk caches have another byte budget on disk");
    obeyed = bytes;
    return false;
  };
  const ended = repeat(pass, { everyMs, signal: stopping.signal, log: options.log });
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
