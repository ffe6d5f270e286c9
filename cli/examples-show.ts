// precedent examples show, domains: one example with all that is known of it (texts, origin, uses
// by arm, trials, gain), and the pool by domain.
import { withoutControls } from "../algorithms/text/printable.ts";
import type { Command } from "commander";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { findExamples, type Listed } from "./examples-read.ts";
import { CommandError, type Io } from "./io.ts";
import { ago, jsonLines, tableOf, withClickHouse } from "./reading.ts";

export function addShowingExamples(examples: Command, io: Io): void {
  examples
    .command("show")
    .description("one example: its texts, where it came from, how it was used, what trials say of it")
    .argument("<id>", "of the example; its first digits will do")
    .option("--json", "as JSON")
    .action(async (id: string, { json }: { json?: boolean }, command: Command) => {
      const found = await withClickHouse(command, io, (clickhouse) => readExample(clickhouse, id));
      io.out(json === true ? `${JSON.stringify(found, null, 2)}\n` : describeExample(found, Date.now()));
    });

  examples
    .command("domains")
    .description("the pool by tenant and domain: how many examples, how large, how good, embedded by which model")
    .option("-t, --tenant <name>", "of this owner")
    .option("--json", "one object a line")
    .action(async ({ tenant, json }: { tenant?: string; json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) => readDomains(clickhouse, tenant));
      io.out(json === true ? jsonLines(rows) : describeDomains(rows, Date.now()));
    });
}

interface ArmUse {
  arm: string;
  uses: number;
  /** Uses with a reward, and their mean reward. */
  rated: number;
  reward: number | null;
  similarity: number;
  helpfulness: number;
}
interface Trials {
  shown: number;
  shownRated: number;
  shownReward: number | null;
  keptOut: number;
  keptOutRated: number;
  keptOutReward: number | null;
}
export type Shown = Listed & { byArm: ArmUse[]; trials: Trials; gain: number | null };

const rewarded =
  "LEFT JOIN (SELECT request_id, tenant, reward, weight FROM rewards FINAL) AS r ON r.request_id = use.request_id AND r.tenant = use.tenant";

/** Throws CommandError when there is none, or several begin so. */
async function readExample(clickhouse: ClickHouse, id: string): Promise<Shown> {
  const [example, ...others] = await findExamples(clickhouse, id);
  if (example === undefined || others.length > 0)
    throw new CommandError(`${id} begins the ids of several examples: give more of it`);
  const parameters = { id: example.id };
  const [byArm, [trials], [ranked]] = await Promise.all([
    clickhouse.query<ArmUse>(
      `SELECT use.arm AS arm, count() AS uses, countIf(r.weight > 0) AS rated, if(rated = 0, NULL, avgIf(r.reward, r.weight > 0)) AS reward,
              avg(similarity) AS similarity, avg(helpfulness) AS helpfulness
       FROM (SELECT * FROM example_uses FINAL WHERE example_id = {id:String}) AS use ${rewarded}
       GROUP BY arm ORDER BY uses DESC, arm`,
      parameters,
    ),
    clickhouse.query<Trials>(
      `SELECT countIf(use.shown) AS shown, countIf(use.shown AND r.weight > 0) AS shownRated,
              if(shownRated = 0, NULL, avgIf(r.reward, use.shown AND r.weight > 0)) AS shownReward,
              countIf(NOT use.shown) AS keptOut, countIf(NOT use.shown AND r.weight > 0) AS keptOutRated,
              if(keptOutRated = 0, NULL, avgIf(r.reward, NOT use.shown AND r.weight > 0)) AS keptOutReward
       FROM (SELECT * FROM example_trials FINAL WHERE example_id = {id:String}) AS use ${rewarded}`,
      parameters,
    ),
    clickhouse.query<{ gain: number }>("SELECT gain FROM example_gain WHERE example_id = {id:String}", parameters),
  ]);
  const none = { shown: 0, shownRated: 0, shownReward: null, keptOut: 0, keptOutRated: 0, keptOutReward: null };
  return { ...example, byArm, trials: trials ?? none, gain: ranked?.gain ?? null };
}

function describeExample(example: Shown, now: number): string {
  const { byArm, trials, gain, expiresAt } = example;
  const uses = byArm.reduce((sum, arm) => sum + arm.uses, 0);
  const lines = [
    `example  ${example.id}`,
    `domain   ${example.domain}, embedded by ${example.embeddingModel}`,
    `source   ${example.source} (${example.model})${example.requestId === null ? "" : `, request ${example.requestId}`}`,
    `quality  ${example.quality}, ${example.bytes} bytes, ${ago(now - example.createdAt)} old, replayed ${example.replays} times` +
      (expiresAt === null ? "" : `, expires ${new Date(expiresAt).toISOString()}`),
    `use      ${uses === 0 ? "never shown" : `shown ${uses} times`}${gain === null ? "" : `, gain ${gain.toPrecision(3)}`}`,
    ...byArm.map(
      ({ arm, uses: times, rated, reward, similarity, helpfulness }) =>
        `         ${arm}: ${times} times, similarity ${similarity.toFixed(2)}, helpfulness ${helpfulness.toFixed(2)}, ${rewards(rated, reward)}`,
    ),
    ...(trials.shown + trials.keptOut === 0
      ? []
      : [
          `trials   shown by chance ${trials.shown} times, ${rewards(trials.shownRated, trials.shownReward)}; ` +
            `kept out ${trials.keptOut} times, ${rewards(trials.keptOutRated, trials.keptOutReward)}`,
        ]),
  ];
  return [...lines, "", withoutControls(example.request), "", withoutControls(example.response), ""].join("\n");
}

const rewards = (rated: number, mean: number | null): string =>
  mean === null ? "no reward yet" : `mean reward ${mean.toFixed(2)} of ${rated}`;

interface Domain {
  tenant: string;
  domain: string;
  examples: number;
  bytes: number;
  quality: number;
  embeddingModels: string[];
  newest: number;
}
const readDomains = (clickhouse: ClickHouse, tenant = ""): Promise<Domain[]> =>
  clickhouse.query<Domain>(
    `SELECT tenant, domain, count() AS examples, sum(bytes) AS bytes, avg(quality) AS quality,
            arraySort(groupUniqArray(embedding_model)) AS embeddingModels, toUnixTimestamp64Milli(max(created_at)) AS newest
     FROM examples FINAL WHERE NOT deleted AND ({tenant:String} = '' OR tenant = {tenant:String})
     GROUP BY tenant, domain ORDER BY examples DESC, domain`,
    { tenant },
  );

const describeDomains = (rows: readonly Domain[], now: number): string =>
  tableOf(
    ["domain", "examples", "bytes", "mean quality", "embedded by", "newest"],
    rows.map((row) => [
      row.domain,
      row.examples,
      row.bytes,
      Number(row.quality.toFixed(2)),
      row.embeddingModels.join(", "),
      `${ago(now - row.newest)} ago`,
    ]),
  );
