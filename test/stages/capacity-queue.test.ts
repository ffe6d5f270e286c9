// Plans of capacity beside a queue that is really there: an arm of two places answers a log of
// known service times, first at a rate that it bears easily, then the same requests at twice the
// rate. What the first log foretells of the second is compared with what the second shows. Shares
// are compared, not times.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";

const count = 100;
const places = 2;
/** Mean utilisation of the slots by the requests that come twice as fast. */
const busy = 0.75;
const random = splitmix64(11);
const asked = Array.from({ length: count }, (_, i) => {
  const completion = Math.ceil(10 + 90 * random());
  return {
    question: `What is number ${i}?`,
    completion,
    gap: -Math.log(1 - random()),
    latencyMs: 100 + 9 * completion,
  };
});
const meanMs = asked.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / count;
/** The mean of so few gaps is not 1 (here 1.17), which would make the slots less busy. */
const meanGap = asked.reduce((sum, { gap }) => sum + gap, 0) / count;

let folder = "";
let system: TestSystem;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-capacity-queue-"));
  const file = join(folder, "log.jsonl");
  const lines = asked.map(({ question, completion, latencyMs }) =>
    JSON.stringify({ request: question, response: "so much", usage: { prompt: 20, completion }, latencyMs }),
  );
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    {
      arms: [{ name: "slow", type: "recorded", dispatch: "queued", file, cost: 1, concurrency: places }],
      kafka: { partitions: 1 },
    },
    { stages: ["plan", "generate", "record"] },
  );
  // JSON is YAML.
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Answered {
  from: number;
  until: number;
  totals: number[];
  queues: number[];
}

/** Asks all of it with these gaps, in milliseconds on average; resolves when it is recorded. */
async function ask(gapMs: number): Promise<Answered> {
  const from = Date.now();
  const began = performance.now();
  let due = 0;
  const answers = [];
  for (const { question, gap } of asked) {
    due += (gap / meanGap) * gapMs;
    await sleep(Math.max(0, due - (performance.now() - began)));
    answers.push(system.ask(question));
  }
  const responses = await Promise.all(answers);
  expect(responses.every(({ status }) => status === "ok")).toBe(true);
  await eventually("all of it recorded", async () => {
    const [row] = await system.session.clickhouse.query<{ n: number }>(
      "SELECT count() AS n FROM responses FINAL WHERE created_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')",
      { from },
    );
    return row!.n >= count ? true : undefined;
  });
  const timings = responses.map((response) => response.timings);
  return {
    from,
    until: Date.now() + 1,
    totals: timings.map(({ total }) => total),
    queues: timings.map(({ queue }) => queue),
  };
}

interface Said {
  arms: { workers: number; places: number; decode_ms_per_token: number }[];
  check: { queue_ms: Record<"p50" | "p90", { logged: number; simulated: number }> }[];
  current: { attainment: number; arms: { utilisation: number }[] };
  asked: { attainment: number } | null;
}
async function plan({ from, until }: Answered, ...argv: string[]): Promise<Said> {
  const window = ["--since", new Date(from).toISOString(), "--until", new Date(until).toISOString()];
  const said = await runCommand(folder, ["plan-capacity", "--json", ...window, ...argv]);
  if (said.code !== 0) throw new Error(said.note);
  return JSON.parse(said.out) as Said;
}
const shareWithin = (values: readonly number[], limit: number): number =>
  values.filter((value) => value <= limit).length / values.length;

test(
  "what a log of little traffic foretells of twice as much is what twice as much shows",
  { timeout: 300_000 },
  async () => {
    const gapMs = meanMs / places / busy;
    const quiet = await ask(2 * gapMs);
    const crowded = await ask(gapMs);
    const [p50, p90] = quantilesOf(crowded.totals, [0.5, 0.9]) as [number, number];
    for (const [limit, measured] of [
      [p50, 0.5],
      [p90, 0.9],
    ] as const) {
      const foretold = await plan(quiet, "--traffic", "2", "--total", `${Math.ceil(limit)}ms`, "--workers", "slow=2");
      expect(foretold.arms[0]).toMatchObject({ workers: 1, places });
      expect(
        Math.abs(foretold.current.attainment - measured),
        `share within ${limit} ms: ${foretold.current.attainment}`,
      ).toBeLessThan(0.12);
      // Or there would be no queue to foretell.
      expect(foretold.asked!.attainment).toBeGreaterThan(foretold.current.attainment);
    }

    // The log's own queue: of its requests as many wait longer on paper as did.
    const own = await plan(crowded);
    const { utilisation } = own.current.arms[0]!;
    expect(Math.abs(utilisation - busy), `busy: ${utilisation}`).toBeLessThan(0.05);
    for (const [q, measured] of [
      ["p50", 0.5],
      ["p90", 0.9],
    ] as const) {
      const { simulated } = own.check[0]!.queue_ms[q];
      expect(Math.abs(shareWithin(crowded.queues, simulated) - measured), `${q}: ${simulated}`).toBeLessThan(0.12);
    }
  },
);
