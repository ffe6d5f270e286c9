// Rows of one page of the list of requests, for the gateway and the browser alike.

/** Rows to skip at most: a page and repeats beyond it fit into what ClickHouse gives. */
export const mostOffset = 49_000;

/** Rows of one time lie together in ClickHouse; by cost or latency each lies elsewhere. */
export const pageRowsOf = ({ sort = "time" }: { sort?: string | undefined }): number =>
  sort === "cost" || sort === "latency" ? 50 : 200;
