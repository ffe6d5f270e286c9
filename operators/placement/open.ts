// What place needs: the writer of the policy `placement`, the domains seen lately on partitions of
// requests, and the topic of examples.
import type { Logger } from "pino";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { FencedProducer } from "../../runtime/singleton.ts";
import type { Topic } from "../../schemas/records.ts";
import { highestPolicyVersion } from "../../state/policies/history.ts";
import { createPolicyLog } from "../../state/policies/log.ts";
import { PLACEMENT } from "../../state/policies/placement.ts";
import type { SessionOf } from "../../state/session.ts";
import { createPlacer, type Placer } from "./placement.ts";
import { createSeen } from "./seen.ts";

/** How far decisions are searched: at the start, and before the newest. */
const seenWithin = { lookBackMs: 86_400_000, overlapMs: 600_000 };

export interface PlaceOptions {
  writer: FencedProducer<Topic<"examples" | "policies">>;
  groups: { own: string; record: string };
  sharing: SharedDomains;
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
}

export function openPlacer(
  session: SessionOf<{ sources: ["ClickHouse"]; tables: ["examples", "policies"] }>,
  { writer, groups, sharing, clock, signal, log }: PlaceOptions,
): Placer {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { pool, shareAbove } = config.selection;
  const policies = createPolicyLog({
    producer: writer,
    ...{ kafka, codec, topic: topic("policies"), name: PLACEMENT, log },
    highestRecorded: (name) => highestPolicyVersion(clickhouse, name),
  });
  const place = createPlacer({
    ...{ clickhouse, kafka, topic: topic("examples"), groups, policies, clock, signal, log },
    seen: createSeen({ clickhouse, decisions: topic("decisions"), ...seenWithin, clock, sharing }),
    encode: (example) => codec.encode("examples", example),
    publish: writer.publish,
    rules: { pool, shareAbove, countEveryMs: config.curate.evict.everyMs },
  });
  return {
    ...place,
    async stop() {
      await Promise.all([place.stop(), policies.close()]);
    },
  };
}
