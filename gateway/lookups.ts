// Questions to ClickHouse on behalf of clients: a few at a time, and its absence in our error
// format.
import { ClickHouseUnavailable } from "../connections/clickhouse/port.ts";
import { ApiError } from "./errors.ts";

/** Rejects with ApiError where ClickHouse does not answer, or too many ask. */
export type LookUp = <T>(ask: () => Promise<T>) => Promise<T>;

const mostAtATime = 8;

export function createLookUps(): LookUp {
  let asking = 0;
  return async (ask) => {
    if (asking >= mostAtATime)
      throw new ApiError({
        ...{ status: 429, code: "too_many_open", retryAfter: 1 },
        message: "Too many look-ups: try again.",
      });
    asking++;
    try {
      return await ask();
    } catch (cause) {
      if (!(cause instanceof ClickHouseUnavailable)) throw cause;
      const message = "ClickHouse does not answer now, or not in time: try again, or ask for less.";
      throw new ApiError({ status: 503, code: "clickhouse_unavailable", retryAfter: 2, message });
    } finally {
      asking--;
    }
  };
}
