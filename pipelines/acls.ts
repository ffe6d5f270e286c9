// The least that each stage's principal needs of a Kafka with ACLs, from the declarations. The
// operator's principal may do everything below the prefix.
import type { StageDescription } from "../runtime/declaration.ts";
import { isTenantTopic, type TopicName } from "../schemas/records.ts";
import { stagesOf } from "./topology.ts";

export type AclOperation = "All" | "Read" | "Write" | "Describe";

export interface Acl {
  principal: string;
  resource: "topic" | "group" | "transactional-id";
  name: string;
  pattern: "literal" | "prefixed";
  operations: readonly AclOperation[];
}

export interface AclNames {
  prefix: string;
  /** Full names; without owner the prefix of all tenants' topics. */
  topic: (name: TopicName | "locks", owner?: string) => string;
  group: (stage: string, arm?: string) => string;
  principal: (stage: string) => string;
  /** Arms that work may come to: each has its work topic and its group. */
  arms: readonly string[];
  /** Those that have topics of their own, with deltas one more; principal: with "User:". */
  tenants: readonly { name: string; principal?: string | undefined; deltas?: boolean | undefined }[];
}

const operator = "operator";

export function aclsOf(stages: readonly StageDescription[], names: AclNames): Acl[] {
  const tenants = names.tenants.map(({ name }) => name);
  const shown = stagesOf(stages, { arms: names.arms, tenants });
  return [...operatorAcls(names), ...shown.flatMap((stage) => stageAcls(stage, names)), ...tenantAcls(names)];
}

const ofTenants = {
  Write: ["tenant-requests", "tenant-feedback"],
  Read: ["tenant-responses", "tenant-alternative-answers"],
} as const satisfies Partial<Record<AclOperation, readonly TopicName[]>>;

/** A tenant's own topics only, and groups that begin with its topic of responses and a dot. */
function tenantAcls({ topic, tenants }: AclNames): Acl[] {
  return tenants.flatMap(({ name, principal, deltas = false }): Acl[] => {
    if (principal === undefined) return [];
    const may = { principal: principal.replace(/^User:/, ""), pattern: "literal" } as const;
    const on = (operation: AclOperation, names: readonly TopicName[]): Acl[] =>
      names.map((one) => ({ ...may, resource: "topic", name: topic(one, name), operations: [operation] }));
    const group = `${topic("tenant-responses", name)}.`;
    return [
      ...[...on("Write", ofTenants.Write), ...on("Read", ofTenants.Read)],
      ...(deltas ? on("Read", ["tenant-deltas"]) : []),
      { ...may, resource: "group", name: group, pattern: "prefixed", operations: ["Read"] },
    ];
  });
}

function operatorAcls({ prefix, principal }: AclNames): Acl[] {
  const all = { principal: principal(operator), pattern: "prefixed", operations: ["All"] } as const;
  return [
    { ...all, resource: "topic", name: prefix },
    { ...all, resource: "group", name: prefix },
    { ...all, resource: "group", name: `reader.${prefix}` },
    { ...all, resource: "transactional-id", name: prefix },
  ];
}

function stageAcls(stage: StageDescription, { prefix, topic, group, principal, arms, tenants }: AclNames): Acl[] {
  const { name, sources, tables, outputs, beside = [] } = stage;
  const full = (store: string): string[] => {
    if (store === "ClickHouse") return [];
    if (store === "tenant-deltas" && !tenants.some(({ deltas }) => deltas === true)) return [];
    return store === "work" ? arms.map((arm) => topic("work", arm)) : [topic(store as TopicName)];
  };
  const may = { principal: principal(name) };
  const topics = new Map<string, Set<AclOperation>>();
  const allow = (operation: AclOperation, names: readonly string[]): void => {
    for (const one of names) topics.set(one, (topics.get(one) ?? new Set()).add(operation));
  };
  // One process of many does what ClickHouse moves: they compete for the partition of `locks`.
  const alone = sources.every((source) => source === "ClickHouse");
  allow("Read", [...(alone ? [topic("locks")] : sources.flatMap(full)), ...tables.flatMap(full)]);
  allow("Write", [...outputs, ...beside].flatMap(full));
  const followed = tables.flatMap(full);
  const ofAllTenants = new Set([...sources, ...outputs, ...beside].filter(isTenantTopic).flatMap(full));
  const ofArms = sources.includes("work");
  const own = group(name);
  const reverts = stage.serves !== undefined && outputs.includes("policies");
  // The gateway writes as any client does, but for policies that go back by its page; record knows
  // where it was by its rows.
  const transactional = reverts || (stage.serves === undefined && (alone || !outputs.includes("ClickHouse")));
  const prefixed = (resource: Acl["resource"], at: string, operation: AclOperation): Acl => ({
    ...{ ...may, resource, name: at, pattern: "prefixed", operations: [operation] },
  });
  return [
    // Every process looks whether all topics are there, and how far others are.
    prefixed("topic", prefix, "Describe"),
    prefixed("group", prefix, "Describe"),
    ...[...topics].map(([at, operations]): Acl => ({
      ...may,
      resource: "topic",
      name: at,
      // Prefixed: the topics of all tenants, later ones included.
      pattern: ofAllTenants.has(at) ? "prefixed" : "literal",
      operations: [...operations],
    })),
    ...(ofArms ? [] : [{ ...may, resource: "group", name: own, pattern: "literal", operations: ["Read"] } as const]),
    // An arm's; that of the schedule of example replays.
    ...(ofArms || name === "example-replay" ? [prefixed("group", `${own}.`, "Read")] : []),
    // Who follows a table is a group of its own, without a position.
    ...followed.map((at) => prefixed("group", `reader.${at}.`, "Read")),
    // The stages that publish and revert policies share an id: each fences the other.
    ...(transactional
      ? [prefixed("transactional-id", name === "learn" || reverts ? `${topic("policies")}.` : `${own}.`, "Write")]
      : []),
    // A dead letter that is sent again has an id and a group of its own.
    ...(reverts
      ? [
          prefixed("transactional-id", `${topic("dead-letters")}.sent.`, "Write"),
          prefixed("group", `${topic("dead-letters")}.sent.`, "Read"),
        ]
      : []),
  ];
}

/** Lines for a shell, one a resource, with Kafka's own program. */
export function aclCommands(acls: readonly Acl[], bootstrap: string): string {
  return acls
    .map(
      ({ principal, resource, name, pattern, operations }) =>
        `kafka-acls.sh --bootstrap-server ${bootstrap} --command-config admin.properties --add --allow-principal "User:${principal}" ` +
        `${operations.map((operation) => `--operation ${operation}`).join(" ")} --${resource} "${name}" --resource-pattern-type ${pattern}\n`,
    )
    .join("");
}
