// precedent topology: the flow as a Mermaid diagram from the runner's declarations; with --acls
// what each stage's principal must be allowed.
import type { Command } from "commander";
import { isInline } from "../config/sections/arms.ts";
import { topicOwners } from "../config/tenants.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { aclCommands, aclsOf } from "../pipelines/acls.ts";
import { toMermaid, topology } from "../pipelines/topology.ts";
import { groupName } from "../runtime/running-stage.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

const processOf: Readonly<Record<string, string>> = {
  "example-replay": "curate",
  "intake-requests": "intake",
  "intake-feedback": "intake",
  "outlet-responses": "outlet",
  "outlet-alternative-answers": "outlet",
};

export const principalOf = (stage: string, prefix = "precedent-"): string => prefix + (processOf[stage] ?? stage);

export function addTopology(program: Command, io: Io): void {
  program
    .command("topology")
    .description("print the flow as a Mermaid diagram, or the ACLs that it needs")
    .option("--acls", "print kafka-acls.sh commands instead: the least that each stage needs")
    .option("--principals <prefix>", "with --acls: what the principals' names begin with", "precedent-")
    .action((options: { acls?: boolean; principals: string }, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      const { arms, kafka } = config;
      const queued = arms.filter((arm) => !isInline(arm)).map(({ name }) => name);
      if (options.acls !== true) {
        io.out(toMermaid(topology, topicOwners(config, queued)));
        return;
      }
      const acls = aclsOf(topology, {
        // Inline ones have work, too: alternative answers, and what they take over from queued
        // ones.
        ...{ prefix: kafka.prefix, arms: arms.flatMap(({ name, type }) => (type === "reuse" ? [] : [name])) },
        tenants: Object.entries(config.tenants).map(([name, tenant]) => ({ name, ...tenant })),
        topic: (name, owner) => topicName(kafka.prefix, name, owner),
        group: (stage, arm) => groupName(kafka.prefix, stage, arm),
        principal: (stage) => principalOf(stage, options.principals),
      });
      io.out(aclCommands(acls, kafka.brokers?.[0] ?? "localhost:9092"));
    });
}
