import { expect, it } from "vitest";
import { shortTopicName } from "../schemas/records.ts";
import { aclCommands, aclsOf, type Acl, type AclNames } from "./acls.ts";
import { topology } from "./topology.ts";

const acls = (arms: readonly string[], tenants: AclNames["tenants"] = []): Acl[] =>
  aclsOf(topology, {
    ...{ prefix: "p.", arms, tenants, principal: (stage) => `user-${stage}` },
    topic: (name, owner) => `p.${shortTopicName(name, owner)}`,
    group: (stage, arm) => `p.${stage}${arm === undefined ? "" : `.${arm}`}`,
  });
const of = (stage: string, arms = ["small", "large"], tenants: AclNames["tenants"] = []): string[] =>
  texts(acls(arms, tenants).filter(({ principal }) => principal === `user-${stage}`));
const texts = (all: readonly Acl[]): string[] =>
  all.map(
    ({ resource, name, pattern, operations }) =>
      `${operations.join("+")} ${resource} ${name}${pattern === "prefixed" ? "*" : ""}`,
  );

it("lets a stage read its sources and tables, write its outputs, and no more", () => {
  expect(of("record")).toEqual(
    expect.arrayContaining(["Read topic p.requests", "Read+Write topic p.dead-letters", "Read group p.record"]),
  );
  expect(of("record").filter((acl) => /transactional-id|Write/.test(acl))).toEqual(["Read+Write topic p.dead-letters"]);
  expect(of("gateway")).toEqual(
    expect.arrayContaining(["Read+Write topic p.keys", "Write topic p.requests", "Read group reader.p.keys.*"]),
  );
  expect(of("gateway").filter((acl) => acl.includes("transactional-id"))).toEqual([
    "Write transactional-id p.policies.*",
    "Write transactional-id p.dead-letters.sent.*",
  ]);
  expect(of("plan")).toContain("Write transactional-id p.plan.*");
  expect(of("learn")).toEqual(expect.arrayContaining(["Read topic p.locks", "Write transactional-id p.policies.*"]));
});

it("has a topic and a group for each queued arm, and no generate where there is none", () => {
  expect(of("generate")).toEqual(
    expect.arrayContaining([
      "Read+Write topic p.work.small",
      "Read+Write topic p.work.large",
      "Read group p.generate.*",
    ]),
  );
  expect(of("generate", [])).toEqual([]);
  expect(of("plan", []).join()).not.toContain("work");
});

it("lets a tenant's principal write and read the topics of that tenant alone", () => {
  const tenants = [{ name: "acme", principal: "User:acme-client" }, { name: "beta" }];
  const ofTenants = acls(["small"], tenants).filter(({ principal }) => !principal.startsWith("user-"));
  expect(new Set(ofTenants.map(({ principal }) => principal))).toEqual(new Set(["acme-client"]));
  expect(texts(ofTenants)).toEqual([
    ...["Write topic p.requests.acme", "Write topic p.feedback.acme"],
    ...["Read topic p.responses.acme", "Read topic p.alternative-answers.acme", "Read group p.responses.acme.*"],
  ]);
});

it("has pieces of answers for tenants that ask for them, and for no others", () => {
  const tenants = [
    { name: "acme", principal: "User:acme-client", deltas: true },
    { name: "beta", principal: "User:b" },
  ];
  const reads = acls(["small"], tenants).filter(({ principal }) => !principal.startsWith("user-"));
  expect(texts(reads).filter((acl) => acl.includes("deltas"))).toEqual(["Read topic p.deltas.acme"]);
  for (const stage of ["plan", "generate"]) {
    expect(of(stage, ["small"], tenants)).toContain("Write topic p.deltas.*");
    expect(of(stage, ["small"], [{ name: "beta" }]).filter((acl) => acl.includes("deltas"))).toEqual([
      "Write topic p.deltas",
    ]);
  }
});

it("has intake and outlet where tenants have topics, for those of all", () => {
  const tenants = [{ name: "acme" }];
  expect(of("intake-requests", ["small"], tenants)).toEqual(
    expect.arrayContaining([
      "Read topic p.requests.*",
      "Write topic p.requests",
      "Write topic p.responses",
      "Write transactional-id p.intake-requests.*",
    ]),
  );
  expect(of("intake-feedback", ["small"], tenants)).toContain("Read topic p.feedback.*");
  expect(of("outlet-responses", ["small"], tenants)).toEqual(
    expect.arrayContaining(["Read topic p.responses", "Write topic p.responses.*", "Write topic p.dead-letters"]),
  );
  for (const stage of ["intake-requests", "outlet-responses"]) expect(of(stage, ["small"])).toEqual([]);
});

it("never lets a stage's principal make, change or delete a topic", () => {
  const stages = acls(["small"], [{ name: "acme" }]).filter(({ principal }) => principal !== "user-operator");
  expect(new Set(stages.flatMap(({ operations }) => operations))).toEqual(new Set(["Describe", "Read", "Write"]));
});

it("prints Kafka's own commands", () => {
  const acl: Acl = {
    principal: "u",
    resource: "topic",
    name: "p.a",
    pattern: "literal",
    operations: ["Read", "Write"],
  };
  expect(aclCommands([acl], "k:9093")).toBe(
    'kafka-acls.sh --bootstrap-server k:9093 --command-config admin.properties --add --allow-principal "User:u" --operation Read --operation Write --topic "p.a" --resource-pattern-type literal\n',
  );
});
