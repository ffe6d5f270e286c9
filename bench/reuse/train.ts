// Fits the trees of algorithms/routing/reuse-quality.ts to labelled pairs: hands the rows to
// tools/training/train-reuse.py, in the Python environment of helpfulness.ts, and checks that the
// trees give here what they gave there.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { reuseScore, type ReuseModel } from "../../algorithms/routing/reuse-trees.ts";
import { run } from "../../connections/python/python.ts";
import { trainingPython } from "../../connections/training/helpfulness.ts";

export interface TrainedReuse {
  model: ReuseModel;
  /** For each repeat the scores of all rows, each by trees that were not fitted on it. */
  heldOut: number[][];
}

const program = fileURLToPath(new URL("../../tools/training/train-reuse.py", import.meta.url));
/** Leaves are rounded to 5 digits for the file; thresholds are exact, so no row changes sides. */
const tolerance = 1e-3;
const longestMs = 600_000;

/** rows: of reuse-features.ts. Rejects when Python can't be had, or the trees differ here. */
export async function trainReuse(
  rows: readonly (readonly number[])[],
  labels: readonly boolean[],
  { repeats, say }: { repeats: number; say: (line: string) => void },
): Promise<TrainedReuse> {
  const python = await trainingPython(say);
  const folder = await mkdtemp(join(tmpdir(), "precedent-reuse-"));
  try {
    const [input, output] = [join(folder, "rows.json"), join(folder, "trained.json")];
    await writeFile(input, JSON.stringify({ rows, labels: labels.map(Number) }));
    await run(python, [program, input, output, "--repeats", String(repeats)], longestMs);
    const trained = JSON.parse(await readFile(output, "utf8")) as {
      model: ReuseModel;
      check: number[];
      held_out: number[][];
    };
    const off = trained.check.findIndex(
      (score, i) => !(Math.abs(reuseScore(rows[i]!, trained.model) - score) <= tolerance),
    );
    if (off >= 0)
      throw new Error(
        `the trees give ${reuseScore(rows[off]!, trained.model)} for row ${off}, and gave ${trained.check[off]} where they were fitted`,
      );
    return { model: trained.model, heldOut: trained.held_out };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
