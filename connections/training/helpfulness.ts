// Trains the helpfulness model by tools/training/train-helpfulness.py and checks the result. Python
// and its packages are fetched at the first training; serving needs none of them.
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import lockfile from "proper-lockfile";
import {
  HELPFULNESS_FEATURE_NAMES,
  HELPFULNESS_FEATURE_VERSION,
  HELPFULNESS_FEATURES,
} from "../../algorithms/selection/helpfulness-features.ts";
import { cacheFolder } from "../../config/assets.ts";
import { loadHelpfulnessModel } from "../helpfulness/onnx.ts";
import { pythonWith, run } from "../python/python.ts";

export interface HelpfulnessRow {
  /** The same for all rows of one request: they are never parted between training and measuring. */
  group: string;
  features: readonly number[] | Float32Array;
  effect: number;
  /** How much the row is to be trusted, > 0. */
  weight: number;
}

export interface TrainedHelpfulness {
  onnx: Uint8Array;
  kind: string;
  /** auc, auc_similarity, calibration_error, effect_of_best (held out); rows; requests. */
  metrics: Record<string, number>;
  featureVersion: number;
}

interface Output {
  kind: string;
  metrics: Record<string, number | null>;
  /** What the model gives for the first rows, before it became a graph. */
  check: number[];
}

const program = fileURLToPath(new URL("../../tools/training/train-helpfulness.py", import.meta.url));
const requirements = fileURLToPath(new URL("../../tools/training/train-helpfulness.requirements.txt", import.meta.url));
/** float32 arithmetic in another order. */
const tolerance = 1e-3;
const longestMs = 1_200_000;

/** Minutes for 100,000 rows. Rejects for wrong or too few rows, without Python, or a bad graph. */
export async function trainHelpfulness(
  rows: readonly HelpfulnessRow[],
  { log }: { log: Logger },
): Promise<TrainedHelpfulness> {
  checkRows(rows);
  const python = await trainingPython((line) => log.info(line));
  const folder = await mkdtemp(join(tmpdir(), "precedent-helpfulness-"));
  try {
    const [input, model, report] = ["rows.jsonl", "model.onnx", "metrics.json"].map((name) => join(folder, name));
    const lines = rows.map(({ features, ...row }) => JSON.stringify({ ...row, features: [...features] }));
    await writeFile(input!, `${[JSON.stringify({ features: HELPFULNESS_FEATURE_NAMES }), ...lines].join("\n")}\n`);
    await run(python, [program, input!, model!, report!], longestMs);
    const onnx = new Uint8Array(await readFile(model!));
    const { kind, metrics, check } = JSON.parse(await readFile(report!, "utf8")) as Output;
    await checkModel(onnx, rows, check, log);
    const measured = Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== null);
    log.info({ kind, bytes: onnx.length, ...metrics }, "helpfulness model trained");
    return { onnx, kind, metrics: Object.fromEntries(measured), featureVersion: HELPFULNESS_FEATURE_VERSION };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkRows(rows: readonly HelpfulnessRow[]): void {
  rows.forEach(({ group, features, effect, weight }, i) => {
    const wrong =
      features.length !== HELPFULNESS_FEATURES
        ? `has ${features.length} features, expected ${HELPFULNESS_FEATURES}`
        : ![...features, effect, weight].every(Number.isFinite)
          ? "has a number that is not finite"
          : weight > 0
            ? null
            : `has weight ${weight}, expected more than 0`;
    if (wrong !== null) throw new RangeError(`row ${i} (request ${group}) ${wrong}`);
  });
}

/** One process at a time makes the environment; the others wait for it. */
export async function trainingPython(say: (line: string) => void): Promise<string> {
  const packages = readFileSync(requirements, "utf8")
    .split("\n")
    .filter((line) => /^\w/.test(line));
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  const release = await lockfile.lock(folder, {
    lockfilePath: join(folder, "train-helpfulness.lock"),
    stale: 60_000,
    update: 5_000,
    retries: { retries: 600, factor: 1, minTimeout: 1_000, maxTimeout: 1_000 },
  });
  try {
    return await pythonWith(["numpy", "sklearn", "onnx"], packages, join(folder, "train-helpfulness-python"), say);
  } finally {
    await release();
  }
}

/** Loads the graph as plan will, and asks it for the rows that Python has answered. */
async function checkModel(
  onnx: Uint8Array,
  rows: readonly HelpfulnessRow[],
  check: number[],
  log: Logger,
): Promise<void> {
  const model = await loadHelpfulnessModel({ bytes: onnx, version: 0, log });
  try {
    const asked = rows.slice(0, check.length).flatMap(({ features }) => [...features]);
    const given = await model.score(Float32Array.from(asked));
    const off = given.findIndex((value, i) => !(Math.abs(value - Math.max(0, Math.min(1, check[i]!))) <= tolerance));
    if (off >= 0)
      throw new Error(`the graph gives ${given[off]} for row ${off}, and the model it was made of ${check[off]}`);
  } finally {
    await model.close();
  }
}
