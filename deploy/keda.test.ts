// The autoscaler's objects can't be applied here (no cluster); what can be known without one is
// checked: their shape as KEDA's resource has it, and topics and groups as the stages name them.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { configSchema } from "../config/schema.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { groupName } from "../runtime/running-stage.ts";

const whole = z.string().regex(/^[1-9]\d*$/);
/** keda.sh/v1alpha1: values of metadata are strings. */
const scaledObject = z.strictObject({
  apiVersion: z.literal("keda.sh/v1alpha1"),
  kind: z.literal("ScaledObject"),
  metadata: z.strictObject({ name: z.string().regex(/^[a-z0-9-]{1,63}$/) }),
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({ name: z.string() }),
    minReplicaCount: z.number().int().min(1),
    maxReplicaCount: z.number().int(),
    cooldownPeriod: z.number().int(),
    triggers: z.array(
      z.strictObject({
        type: z.literal("kafka"),
        metadata: z.strictObject({
          bootstrapServers: z.string(),
          topic: z.string(),
          consumerGroup: z.string(),
          lagThreshold: whole,
          offsetResetPolicy: z.enum(["earliest", "latest"]),
          allowIdleConsumers: z.enum(["true", "false"]),
        }),
      }),
    ),
  }),
});

it("the objects of KEDA are valid, and watch what plan and generate read", () => {
  const file = readFileSync(new URL("keda/scaled-objects.yaml", import.meta.url), "utf8");
  const objects = parseAllDocuments(file).map((document) => scaledObject.parse(document.toJS()));
  const { prefix } = configSchema.parse({ arms: [{ name: "small", type: "llama" }] }).kafka;
  expect(
    objects.map(({ spec }) => spec.triggers.map(({ metadata }) => [metadata.topic, metadata.consumerGroup])),
  ).toEqual([
    [[topicName(prefix, "requests"), groupName(prefix, "plan")]],
    [[topicName(prefix, "work", "large"), groupName(prefix, "generate", "large")]],
  ]);
  expect(objects.map(({ metadata, spec }) => metadata.name === spec.scaleTargetRef.name)).toEqual([true, true]);
});
