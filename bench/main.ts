// npm run --silent bench -- NAME [--quick] [--json] [--data FILE]: runs one benchmark. A table for
// people; with --json exactly one JSON object on standard output. Progress and logs go to standard
// error. The full form writes bench/results/NAME.json.
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { archived, benchmarks } from "./benchmarks.ts";
import { reportOf, tableOf, writeReport } from "./report.ts";
import { noCheckpoints, openCheckpoints } from "./support/checkpoints.ts";
import { commit } from "./support/machine.ts";
import { startProgress } from "../stack/progress.ts";

const usage = `usage: npm run --silent bench -- NAME [--quick] [--json] [--data FILE] [--only PART] [--requests N] [--model NAME] [--device NAME] [--domains] [--profile] [--keep-stack] [--fresh]
  --quick       the same figures from less work, nothing is written to bench/results
  --json        one JSON object on standard output, and nothing else there
  --data        a file in place of the benchmark's own data
  --only        measure a part: docs/benchmarks.md names those of each benchmark
  --requests    how many requests are asked (serve, ladder, page), questions (linked papers) or
                examples (linked build)
  --model       linked papers: a named model or a GGUF file
  --device      linked: gpu or the name of one; times are then on the clock
  --domains     routing: a request's task is its domain, too
  --profile     keep CPU profiles of the processes measured under .precedent/bench
  --keep-stack  leave the embedded servers running for the next run
  --fresh       forget the finished parts of a run that was broken off
benchmarks: ${Object.keys(benchmarks).join(", ")}\n`;

const root = fileURLToPath(new URL("..", import.meta.url));
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(new Error(`stopped by ${name}`));
  });
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      data: { type: "string" },
      only: { type: "string" },
      requests: { type: "string" },
      model: { type: "string" },
      device: { type: "string" },
      domains: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      "keep-stack": { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [name, ...more] = positionals;
  const load = name === undefined ? undefined : (benchmarks[name] ?? archived[name]);
  if (values.help || name === undefined || load === undefined || more.length > 0) {
    process.stderr.write(usage);
    return values.help ? 0 : 2;
  }
  const benchmark = await load();
  if (values.only !== undefined && !(benchmark.parts ?? []).includes(values.only)) {
    process.stderr.write(
      `error: --only ${values.only}: ${name} has ${benchmark.parts?.join(", ") ?? "no such parts"}\n`,
    );
    return 2;
  }
  const requests = values.requests === undefined ? undefined : Number(values.requests);
  if (requests !== undefined && !(Number.isSafeInteger(requests) && requests > 0)) {
    process.stderr.write(`error: --requests ${values.requests}: a whole number above 0\n`);
    return 2;
  }
  const { quick, profile } = values;
  const folder = join(root, ".precedent", "bench", name);
  await mkdir(folder, { recursive: true });
  const data = values.data === undefined ? undefined : resolve(values.data);
  // At the start: what is committed while it runs was not measured.
  const measuredCommit = commit();
  const settings = JSON.stringify({
    commit: measuredCommit,
    data,
    only: values.only,
    device: values.device,
    domains: values.domains,
  });
  // A part must not cost a whole run that was broken off what it has.
  const kept = join(folder, `checkpoints${values.only === undefined ? "" : `-${values.only}`}.json`);
  const checkpoints = quick ? noCheckpoints : await openCheckpoints(kept, settings);
  if (values.fresh) await checkpoints.clear();
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  if (checkpoints.count() > 0) note(`going on after ${checkpoints.count()} parts of a run that was broken off`);

  const date = new Date();
  const began = performance.now();
  const measured = await benchmark.run({
    quick,
    data,
    only: values.only,
    requests,
    model: values.model,
    device: values.device,
    domains: values.domains,
    profile,
    keepStack: values["keep-stack"],
    folder,
    checkpoints,
    progress: startProgress,
    note,
    signal: stopping.signal,
  });
  const command = `npm run --silent bench -- ${process.argv.slice(2).join(" ")}`;
  const seconds = (performance.now() - began) / 1000;
  const report = reportOf({ benchmark: name, quick, command, commit: measuredCommit, seconds, date }, measured);
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${tableOf(measured)}\n`);
  if (!quick) {
    const file = measured.part === undefined ? name : `${name}-${measured.part}`;
    const path = name in archived ? join(name, "results.json") : join("results", `${file}.json`);
    await writeReport(join(root, "bench", path), report);
    // One that was stopped may have given what it had: it goes on from there next time.
    if (!stopping.signal.aborted) await checkpoints.clear();
  }
  return stopping.signal.aborted ? 130 : 0;
}

const code = await main().catch((error: unknown) => {
  process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return stopping.signal.aborted ? 130 : 1;
});
// Not by exhaustion: a driver's idle socket must not keep a finished run alive.
process.stdout.write("", () => process.exit(code));
