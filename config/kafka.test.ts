import { expect, test } from "vitest";
import { configSchema } from "./schema.ts";

const parse = (kafka: object) =>
  configSchema.safeParse({ kafka, arms: [{ name: "a", type: "recorded", file: "x.jsonl" }] });

test("copies and transaction timeouts have defaults that follow from the cluster", () => {
  const { data } = parse({});
  expect(data?.kafka).toMatchObject({ transactionTimeoutMs: 5_000 });
  expect(data?.kafka).not.toHaveProperty("replicationFactor");
  expect(data?.kafka).not.toHaveProperty("minInsyncReplicas");
});

test("more copies in sync than there are is refused, where it can be known", () => {
  expect(parse({ replicationFactor: 3, minInsyncReplicas: 2 }).success).toBe(true);
  expect(parse({ minInsyncReplicas: 2 }).success).toBe(true);
  const { error } = parse({ replicationFactor: 2, minInsyncReplicas: 3 });
  expect(error?.issues[0]).toMatchObject({
    path: ["kafka", "minInsyncReplicas"],
    message: "3 copies can't be in sync where kafka.replicationFactor makes 2: nothing could be written",
  });
});

test.each([999, 900_001])("a transaction timeout of %i ms is refused", (transactionTimeoutMs) => {
  expect(parse({ transactionTimeoutMs }).success).toBe(false);
});
