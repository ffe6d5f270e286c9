import { expect, it } from "vitest";
import type { Policy } from "../schemas/types.ts";
import { describeHistory, describePolicy } from "./describe-policy.ts";
import { describeTraining } from "./helpfulness.ts";

const policy = (more: Partial<Policy>): Policy => ({
  name: "helpfulness",
  tenant: "default",
  version: 3,
  kind: "helpfulness/onnx/1",
  body: "AAAA",
  reference: null,
  hash: "0123456789abcdef",
  featureVersion: 1,
  trainedThrough: Date.UTC(2026, 0, 2, 3, 4, 5),
  metrics: { auc: 0.71234, auc_similarity: 0.6, rows: 900 },
  revertOf: null,
  createdAt: Date.UTC(2026, 0, 3),
  ...more,
});
/** Tables without their frames and colours. */
const plain = (text: string): string =>
  text
    .replace(/\u001b\[\d+m/g, "")
    .replace(/[─│┌┐└┘├┤┬┴┼]/g, " ")
    .replace(/ +/g, " ");

it("a helpfulness model shows its figures, never its bytes", () => {
  const text = plain(describePolicy(policy({})));
  expect(text).toContain("helpfulness 3 (helpfulness/onnx/1, features 1)");
  expect(text).toContain("through 2026-01-02 03:04:05");
  expect(text).toContain("size 4 bytes, sha256 0123456789ab");
  expect(text).toContain("auc 0.7123");
  expect(text).not.toContain("AAAA");
  expect(plain(describePolicy(policy({ revertOf: 1 })))).toContain(
    "repeats 1; learning is paused: precedent policy resume helpfulness",
  );
});

it("a threshold shows how each tau did, and one that can't be read says why", () => {
  const body = JSON.stringify({
    threshold: 0.4,
    grid: [
      { tau: 0.4, requests: 300, gain: 0.71234, error: 0.01 },
      { tau: 0.5, requests: 900, gain: 0.6, error: 0.005 },
    ],
  });
  const threshold = policy({ name: "threshold", kind: "threshold/1", body, hash: null });
  const text = plain(describePolicy(threshold));
  expect(text).toContain("threshold 0.4");
  expect(text).toMatch(/0\.4 300 0\.7123 0\.01 in force/);
  expect(text).toMatch(/0\.5 900 0\.6 0\.005/);
  expect(describePolicy({ ...threshold, body: "{" })).toContain("threshold 3 is no JSON");
});

it("the history has the figures that tell the versions of that policy apart", () => {
  const text = plain(describeHistory([policy({ revertOf: 1 }), policy({ version: 2 })]));
  expect(text).toMatch(/version published rows AUC of similarity repeats/);
  expect(text).toMatch(/3 2026-01-03 00:00:00 900 0\.7123 0\.6 1/);
});

it("a training says what it rests on and what came of it", () => {
  const kinds = { trial: 3, direct: 2, observed: 1 };
  const base = { kinds, trainedThrough: null };
  const metrics = { auc: 0.7, auc_similarity: 0.6 };
  const trained = { ...base, outcome: "trained", kind: "trees", metrics } as const;
  expect(describeTraining({ ...trained, published: { outcome: "published", policy: policy({}) } }, 5)).toBe(
    "trained on 3 trials, 2 comparisons, 1 observed uses: trees, AUC 0.700 on requests held out, similarity 0.600\n" +
      "helpfulness 3 is published; plan takes it up while it runs\n",
  );
  expect(describeTraining({ ...trained, published: { outcome: "worse" } }, 5)).toContain("not published");
  expect(() => describeTraining({ ...trained, published: { outcome: "paused" } }, 5)).toThrow(
    "policy resume helpfulness",
  );
  expect(() => describeTraining({ ...base, outcome: "paused" }, 5)).toThrow("policy resume helpfulness");
  expect(() => describeTraining({ ...base, outcome: "few" }, 500)).toThrow(
    "fewer than learn.helpfulness.minimumRows (500)",
  );
});
