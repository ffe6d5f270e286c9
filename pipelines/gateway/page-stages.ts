// Which stages, consumer groups and topics there are, for the page's Health and dead letters.
import type { StageGroup } from "../../gateway/page/data/health.ts";
import { isInline } from "../../config/sections/arms.ts";
import { groupName, stageName } from "../../runtime/running-stage.ts";
import { isTenantTopic, ownersOf, type TopicName } from "../../schemas/records.ts";
import type { SessionOf } from "../../state/session.ts";
import { stagesOf, topology } from "../topology.ts";
import type { gateway } from "./pipeline.ts";

type GatewaySession = SessionOf<typeof gateway>;

/**
 * Every consumer group with its topics; a queued arm has one of its own. No topics: the group only
 * says which processes there are. Learn and curate read ClickHouse, gateways reply partitions.
 */
export function stageGroups({ config, arms, tenants, topic }: GatewaySession): StageGroup[] {
  const { prefix } = config.kafka;
  const names = [...tenants.names()];
  return stagesOf(topology, { arms: arms.configured().map((arm) => arm.name), tenants: names }).flatMap(
    ({ name, sources }) => {
      const topics = topicsOf(sources);
      const of = (arm?: string): StageGroup => ({
        stage: stageName(name, arm),
        group: groupName(prefix, name, arm),
        topics: topics.flatMap((one) => (isTenantTopic(one) ? names : [arm]).map((owner) => topic(one, owner))),
      });
      if (name === "example-replay") return [];
      if (name === "gateway") return [{ ...of(), topics: [] }];
      if (!topics.includes("work")) return [of()];
      return arms.configured().flatMap((arm) => (isInline(arm) ? [] : [of(arm.name)]));
    },
  );
}

/** full: name of a topic on the brokers. undefined: no stage reads it. */
export function recordOf({ arms, tenants, topic }: GatewaySession, full: string): TopicName | undefined {
  const names = [...tenants.names()];
  const owners = { arms: arms.configured().map(({ name }) => name), tenants: names, streaming: names };
  return topology
    .flatMap(({ sources }) => topicsOf(sources))
    .find((name) => ownersOf(name, owners).some((owner) => topic(name, owner) === full));
}

const topicsOf = (sources: readonly (TopicName | "ClickHouse")[]): TopicName[] =>
  sources.filter((source): source is TopicName => source !== "ClickHouse");
