// Rows of one page of the list of requests, for the gateway and the browser alike.
import type { RequestFilter } from "./types/requests.ts";

/** Rows of one time lie together in ClickHouse; by cost or latency each lies elsewhere. */
export const pageRowsOf = ({ sort = "time" }: Pick<RequestFilter, "sort">): number =>
  sort === "cost" || sort === "latency" ? 50 : 200;
