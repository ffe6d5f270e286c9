// precedent select "…": the examples that a request would be shown by arm, and why the others would
// not, by plan's code in a pool of its own. Sends nothing.
import type { Command } from "commander";
import pc from "./colors.ts";
import { holdSelection, type Inspected } from "../pipelines/plan/selection.ts";
import type { Session } from "../pipelines/session.ts";
import type { Chosen, Reason, Verdict } from "../operators/select/choose.ts";
import { requestOf } from "./ask.ts";
import { UsageError, type Io } from "./io.ts";
import { configOf, parseNames } from "./options.ts";
import { oneLine, tableOf } from "./reading.ts";
import { withSession } from "./with-session.ts";

interface Options {
  tenant: string;
  domain?: string;
  arm?: string[];
  json?: boolean;
}

export function addSelect(program: Command, io: Io): void {
  program
    .command("select")
    .description("which examples a request would be shown, and why the others would not (sends nothing)")
    .argument("<question>", "what the user would say")
    .option("-t, --tenant <name>", "owner of the request", "default")
    .option("-d, --domain <name>", "sharing domain inside the tenant")
    .option("-a, --arm <names>", "only these arms, separated by commas", parseNames())
    .option("--json", "as JSON, with the texts of all candidates")
    .action(async (question: string, options: Options, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      const names = config.arms.map(({ name }) => name);
      const unknown = options.arm?.find((name) => !names.includes(name));
      if (unknown !== undefined) throw new UsageError(`--arm ${unknown}: there are ${names.join(", ")}`);
      const wanted = (name: string): boolean => options.arm?.includes(name) ?? true;

      const inspect = async (session: Session): Promise<void> => {
        const held = await holdSelection(session);
        try {
          const request = {
            ...requestOf(question, { ...options, timeout: config.limits.deadlineMs }),
            createdAt: Date.now(),
          };
          const found = await held.select(request, io.signal);
          io.out(options.json === true ? asJson(found, wanted) : describeSelection(found, wanted));
        } finally {
          await held.stop();
        }
      };
      await withSession(command, io, inspect, { level: "warn" });
    });
}

const helpfulnessOf = ({ candidate: { helpfulness } }: Verdict): number | null =>
  Number.isFinite(helpfulness) ? helpfulness : null;

function asJson({ byArm, budgets, ...found }: Inspected, wanted: (arm: string) => boolean): string {
  const arms = [...byArm]
    .filter(([arm]) => wanted(arm))
    .map(([arm, { examples, verdicts }]) => ({
      arm,
      tokenBudget: budgets.get(arm) ?? null,
      shown: examples.map(({ id }) => id),
      candidates: verdicts.map((verdict) => {
        const { example, similarity, tokens, row, features, cached = false } = verdict.candidate;
        const { id, request, response, quality, source } = example;
        const { reason, of } = verdict;
        const figures = { similarity, helpfulness: helpfulnessOf(verdict), tokens, features: features(row) };
        const cachedBonus = bonusOf(examples, id);
        return { id, reason, of, ...figures, cached, cachedBonus, request, response, quality, source };
      }),
    }));
  return `${JSON.stringify({ ...found, arms }, null, 2)}\n`;
}

export function describeSelection(found: Inspected, wanted: (arm: string) => boolean = () => true): string {
  const { domain, candidates, pool, embeddingModel, helpfulnessVersion, threshold, degraded } = found;
  const rated =
    helpfulnessVersion > 0
      ? `helpfulness by model version ${helpfulnessVersion}`
      : "similarity stands in for helpfulness";
  const lines = [
    `${candidates} candidates in ${domain} (${pool} examples in the pool, embedded by ${embeddingModel})`,
    `${rated}, threshold ${number(threshold)}`,
  ];
  if (degraded.length > 0) lines.push(pc.yellow(`degraded: ${degraded.join(", ")}`));
  for (const [arm, chosen] of found.byArm) {
    if (!wanted(arm)) continue;
    const budget = found.budgets.get(arm);
    lines.push(
      "",
      pc.bold(arm) + (budget === undefined ? ": is shown no examples" : `: ${total(chosen)} of ${budget} tokens`),
    );
    if (chosen.verdicts.length > 0) lines.push(tableOf(head, rowsOf(chosen)).trimEnd());
  }
  return `${lines.join("\n")}\n`;
}

const number = (value: number): number => Number(value.toFixed(3));
const total = ({ examples }: Chosen): number => examples.reduce((sum, { tokens }) => sum + tokens, 0);
/** What was added for its cache; 0 of one that is not shown. */
const bonusOf = (examples: Chosen["examples"], of: string): number =>
  examples.find(({ id }) => id === of)?.cachedBonus ?? 0;
const head = ["", "similarity", "helpfulness", "cached", "tokens", "id", "request", "answer"];

/** The shown ones first, the nearest to the question at the top; then by helpfulness. */
function rowsOf({ examples, verdicts }: Chosen): (string | number)[][] {
  const position = new Map(examples.toReversed().map(({ id }, index) => [id, index + 1]));
  const rank = (verdict: Verdict): number => position.get(verdict.candidate.example.id) ?? Infinity;
  return [...verdicts]
    .sort((a, b) => rank(a) - rank(b) || (helpfulnessOf(b) ?? -1) - (helpfulnessOf(a) ?? -1) || 0)
    .map((verdict) => {
      const { example, similarity, tokens, cached = false } = verdict.candidate;
      const added = bonusOf(examples, example.id);
      const helpfulness = helpfulnessOf(verdict);
      const at = position.get(example.id);
      return [
        at === undefined ? whyNot(verdict) : pc.green(`shown, ${at} from the question`),
        number(similarity),
        helpfulness === null ? "" : number(helpfulness),
        cached ? (added > 0 ? `+${number(added)}` : "yes") : "",
        Number.isFinite(tokens) ? tokens : "too many",
        example.id.slice(0, 12),
        oneLine(example.request, 40),
        oneLine(example.response, 40),
      ];
    });
}

const words: Record<Reason, string> = {
  shown: "shown",
  forced_in: "shown by chance",
  kept_out: "kept out by chance",
  foreign: "of another domain",
  not_shared: "of a tenant that does not share it any more",
  own_request: "made from this request",
  unusable: "broken: no number",
  not_similar: "not similar",
  unsafe: "control characters, or empty",
  below_threshold: "below the threshold",
  near_duplicate: "near-duplicate of",
  oversized: "larger than the budget",
  over_budget: "does not fit any more",
  one_tenant: "its tenant has its share of the prompt",
  too_many: "enough shown",
};
const whyNot = ({ reason, of }: Verdict): string =>
  pc.dim(`${words[reason]}${of === null ? "" : ` ${of.slice(0, 12)}`}`);
