// The next version of a policy by another process than the learner, as the writer for it.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Policy } from "../../schemas/types.ts";
import type { PolicyLog } from "./log.ts";

export interface Policies {
  clickhouse: Pick<ClickHouse, "query">;
  open(name: string): PolicyLog;
}

/** Publishes what is made of the next version number and the newest version; null: nothing. */
export async function appendOnce<P extends Policy | null>(
  policies: Pick<Policies, "open">,
  name: string,
  make: (version: number, newest: Policy | null) => P,
): Promise<P> {
  const log = policies.open(name);
  try {
    return await log.append((version) => make(version, log.newest()));
  } finally {
    await log.close();
  }
}
