import { expect, it } from "vitest";
import type { Policy } from "../../schemas/types.ts";
import { decodeHelpfulnessPolicy, largestHelpfulnessBody, HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { createPublishHelpfulness, type TrainedHelpfulness } from "./publish-helpfulness.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";

const trained = (auc: number, bytes = [1, 2, 255]): TrainedHelpfulness => ({
  onnx: Uint8Array.from(bytes),
  metrics: { auc, auc_similarity: 0.6, rows: 100, odd: Number.NaN },
  featureVersion: 3,
});

function setUp() {
  const { writer, records } = createPolicyTopic();
  const log = writer([HELPFULNESS, "threshold"]).of(HELPFULNESS);
  return { publish: createPublishHelpfulness({ policies: log, clock: () => 5 }), records, writer };
}
const published = (records: Policy[]): Policy => {
  const last = records.at(-1);
  if (last === undefined) throw new Error("nothing is published");
  return last;
};

it("publishes what beats similarity, and it can be read again", async () => {
  const { publish, records } = setUp();
  expect(await publish(trained(0.7), { trainedThrough: 4 })).toMatchObject({ outcome: "published" });
  const record = published(records());
  expect(record).toMatchObject({ name: "helpfulness", version: 1, featureVersion: 3, trainedThrough: 4, createdAt: 5 });
  expect(record.metrics).toEqual({ auc: 0.7, auc_similarity: 0.6, rows: 100 });
  expect(decodeHelpfulnessPolicy(record, 3)).toEqual({ onnx: Buffer.from([1, 2, 255]) });
});

it("does not publish what is no better than similarity or was not measured, unless it is made to", async () => {
  const { publish, records } = setUp();
  expect(await publish(trained(0.6), { trainedThrough: null })).toEqual({ outcome: "worse" });
  expect(await publish(trained(Number.NaN), { trainedThrough: null })).toEqual({ outcome: "worse" });
  const guess = { ...trained(0.5), metrics: { auc: 0.5, auc_similarity: 0.4 } };
  expect(await publish(guess, { trainedThrough: null })).toEqual({ outcome: "worse" });
  expect(records()).toEqual([]);
  await publish(trained(0.6), { trainedThrough: null, force: true });
  expect(records()).toHaveLength(1);
});

it("a revert stands, also by force and when it is only learnt of on becoming the writer", async () => {
  const { publish, records, writer } = setUp();
  await publish(trained(0.7), { trainedThrough: 4 });
  const person = writer([HELPFULNESS]).of(HELPFULNESS);
  await person.append((version) => ({ ...published(records()), version, revertOf: 1 }));
  expect(await publish(trained(0.9), { trainedThrough: 6, force: true })).toEqual({ outcome: "paused" });
  await person.open();
  await person.append((version) => ({ ...published(records()), version, revertOf: null }));
  expect(await publish(trained(0.9), { trainedThrough: 6 })).toMatchObject({ policy: { version: 4 } });
});

it("what is too large is not published", async () => {
  const { publish } = setUp();
  const large = { ...trained(0.7), onnx: new Uint8Array(largestHelpfulnessBody) };
  await expect(publish(large, { trainedThrough: null })).rejects.toThrow("at most 716800 can be published");
  await expect(publish(trained(0.7, []), { trainedThrough: null })).rejects.toThrow("empty");
});

it("a record that is another kind, another layout, damaged or referenced says so", async () => {
  const { publish, records } = setUp();
  await publish(trained(0.7), { trainedThrough: 4 });
  const good = published(records());
  const problem = (more: Partial<Policy>): unknown => decodeHelpfulnessPolicy({ ...good, ...more }, 3);
  expect(problem({ kind: "helpfulness/onnx/2" })).toEqual({
    problem: "helpfulness 1 is of kind helpfulness/onnx/2; this process reads helpfulness/onnx/1",
  });
  expect(problem({ featureVersion: 4 })).toEqual({ problem: "helpfulness 1 has features 4; this process has 3" });
  expect(problem({ body: "AAAA" })).toMatchObject({ problem: expect.stringContaining("its record says") });
  expect(problem({ hash: null })).toMatchObject({ problem: expect.stringContaining("its record says null") });
  expect(problem({ reference: "s3://x" })).toMatchObject({ problem: expect.stringContaining("never referenced") });
  expect(problem({ body: "A".repeat(largestHelpfulnessBody + 1) })).toMatchObject({
    problem: expect.stringContaining("more than"),
  });
});
