// Writes down decisions, then cursors: what is behind a cursor is decided. A pass that breaks off
// between is repeated with the same rows. Rejects as the ClickHouse port does.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Admission } from "./admit.ts";
import { curateReader, type Candidate, type Cursor } from "./candidates.ts";

export interface RememberDependencies {
  clickhouse: Pick<ClickHouse, "insert">;
  clock: () => number;
}

export function createRemember({ clickhouse, clock }: RememberDependencies) {
  return async function remember(
    decided: readonly { candidate: Candidate; admission: Admission }[],
    cursors: readonly Cursor[],
  ): Promise<void> {
    const decidedAt = new Date(clock()).toISOString();
    if (decided.length > 0)
      await clickhouse.insert(
        "admissions",
        decided.map(({ candidate, admission }) => ({
          request_id: candidate.requestId,
          tenant: candidate.tenant,
          source: candidate.source,
          domain: candidate.domain,
          outcome: admission.outcome,
          reason: admission.reason ?? "",
          example_id: admission.exampleId ?? "",
          quality: admission.quality,
          reward_version: candidate.rewardVersion,
          decided_at: decidedAt,
        })),
      );
    if (cursors.length > 0)
      await clickhouse.insert(
        "cursors",
        cursors.map(({ source, partition, position }) => ({
          reader: curateReader,
          source,
          kafka_partition: partition,
          position,
        })),
      );
  };
}
