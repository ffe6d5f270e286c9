// The helpfulness model's training job as it is run for real: rows by file, Python, a graph back.
// Fetches scikit-learn and onnx the first time.
import { pino } from "pino";
import { expect, test } from "vitest";
import { HELPFULNESS_FEATURE_NAMES } from "../../algorithms/selection/helpfulness-features.ts";
import { normal, splitmix64 } from "../../algorithms/numeric/random.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import { trainHelpfulness, type HelpfulnessRow } from "../../connections/training/helpfulness.ts";

const log = pino({ level: "silent" });
/** The first time the packages are fetched. */
const timeout = 600_000;
const column = (name: string): number => HELPFULNESS_FEATURE_NAMES.indexOf(name);

/** What helps is agreement, by half of it, and similarity says nothing. */
function rows(requests: number): HelpfulnessRow[] {
  const random = splitmix64(5);
  return Array.from({ length: 6 * requests }, (_, i) => {
    const features = HELPFULNESS_FEATURE_NAMES.map(() => random());
    const effect = 0.5 * (features[column("agreement")]! - 0.5) + 0.05 * normal(random);
    return { group: `request ${Math.floor(i / 6)}`, features, effect, weight: 1 };
  });
}

test(
  "learns what helps, measures it on requests held out, and gives a graph that the stages can load",
  { timeout },
  async () => {
    const { onnx, kind, metrics, featureVersion } = await trainHelpfulness(rows(60), { log });
    expect(metrics["auc"]).toBeGreaterThan(0.9);
    expect(metrics["auc"]).toBeGreaterThan(metrics["auc_similarity"]! + 0.2);
    expect(metrics["calibration_error"]).toBeLessThan(0.05);
    expect(metrics).toMatchObject({ rows: 360, requests: 60 });
    expect(["trees", "network", "linear"]).toContain(kind);
    const model = await loadHelpfulnessModel({ bytes: onnx, version: 1, featureVersion, log });
    const at = (agreement: number): Float32Array =>
      Float32Array.from(HELPFULNESS_FEATURE_NAMES, (name) => (name === "agreement" ? agreement : 0.5));
    const [helps] = await model.score(at(0.95));
    const [hurts] = await model.score(at(0.05));
    expect(helps).toBeGreaterThan(0.55);
    expect(hurts).toBeLessThan(0.45);
    await model.close();
  },
);

test("says so when there are too few requests to measure with", { timeout }, async () => {
  await expect(trainHelpfulness(rows(3), { log })).rejects.toThrow(/3 requests are too few/);
});
