// Choosing after the small model's answer against choosing before it (docs/benchmarks.md): the same
// held-out regressions, once with what is known of the request alone, once with how sure the small
// model was of its answer, too. An escalated request pays both calls. Pure.
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import type { Figures } from "../../benchmark.ts";
import { pairedBootstrap } from "../../support/bootstrap.ts";
import { mean, significant } from "../../support/statistics.ts";
import { auc, ranked } from "../../reuse/figures.ts";
import { costWeights } from "../../routing/worth.ts";
import { domains, type Domain } from "../stream.ts";
import { fitRidge, heldOut } from "./models.ts";

export const asked = ["small-with", "small-without", "large-without"] as const;
const smallArms = [0, 1];
const large = 2;
/** A score of this or more counts as right in the AUC. */
const right = 0.5;

/** A request as each arm answered it; figures by arm in the order of `asked`. */
export interface Escalated {
  domain: Domain;
  /** What is known before any answer. */
  before: number[];
  score: number[];
  /** CPU seconds, all of ours included. */
  cpu: number[];
  /** What the small arms' answers showed, by name. */
  after: Readonly<Record<string, number>>[];
}

interface Choice {
  arm: number;
  /** The large arm is asked behind it. */
  escalates: boolean;
}

/** unit: CPU seconds of a price of 1, the mean of the most expensive arm. */
interface Price {
  weight: number;
  unit: number;
}

export function escalationFigures(requests: readonly Escalated[], resamples: number): Figures {
  const unit = Math.max(...asked.map((_, arm) => mean(requests.map(({ cpu }) => cpu[arm]!))));
  const worth = costWeights.map((weight) => worthAt(requests, { weight, unit }, resamples));
  return {
    n: requests.length,
    n_by_domain: Object.fromEntries(
      domains.map((domain) => [domain, requests.filter((one) => one.domain === domain).length]),
    ),
    how: "kept answers of live models; log-probabilities computed again from prompt and text; both choices replayed, held out by folds",
    auc: Object.fromEntries(smallArms.map((arm) => [asked[arm], aucOf(requests, arm)])),
    worth: Object.fromEntries(worth.map(({ weight, ...own }) => [String(weight), own])),
    weights_gained: worth.filter(({ gain }) => gain >= 0.02).length,
  };
}

/** By predictor: chance that a right answer is above a wrong one; `all`: a held-out regression. */
function aucOf(requests: readonly Escalated[], arm: number): Figures {
  const names = Object.keys(requests[0]?.after[arm] ?? {});
  const labels = requests.map(({ score }) => Number(score[arm]! >= right));
  const rows = requests.map((one) => features(one, arm));
  const models = heldOut(requests.length, (of) =>
    fitRidge(
      of.map((i) => rows[i]!),
      of.map((i) => labels[i]!),
    ),
  );
  const scores = new Map<string, number[]>([
    ...names.map((name): [string, number[]] => [name, requests.map(({ after }) => after[arm]![name]!)]),
    ["all", rows.map((row, i) => models[i]!(row))],
  ]);
  const within = (of: readonly number[]): Figures =>
    Object.fromEntries(
      [...scores].map(([name, values]) => {
        const own = of.map((i) => values[i]!);
        const found = auc(
          ranked(own),
          Uint8Array.from(of, (i) => labels[i]!),
          Float64Array.from(own, () => 1),
        );
        return [name, Number.isNaN(found) ? null : significant(found, 3)];
      }),
    );
  const all = requests.map((_, i) => i);
  return {
    both: within(all),
    ...Object.fromEntries(domains.map((name) => [name, within(all.filter((i) => requests[i]!.domain === name))])),
  };
}

const features = ({ before, after }: Escalated, arm: number): number[] => [...before, ...Object.values(after[arm]!)];

/** Worth of a plan: the arm's answer, or behind it the large one's where that was asked, too. */
function worthOf({ score, cpu }: Escalated, { arm, escalates }: Choice, { weight, unit }: Price): number {
  const both = cpu[arm]! + (escalates ? cpu[large]! : 0);
  return score[escalates ? large : arm]! - (weight * both) / unit;
}

function worthAt(requests: readonly Escalated[], price: Price, resamples: number) {
  const all = requests.map((_, i) => i);
  const always = (arm: number): Choice[] => requests.map(() => ({ arm, escalates: false }));
  const first = smallArms.map((arm) => escalating(requests, arm, price, all));
  const choices: Record<string, Choice[]> = {
    before: chosen(requests, price, []),
    after: chosen(requests, price, first),
    ...Object.fromEntries(smallArms.map((arm) => [`${asked[arm]!}_first`, first[arm]!])),
    ...Object.fromEntries(asked.map((name, arm) => [name, always(arm)])),
  };
  const each = new Map(
    Object.entries(choices).map(([name, own]) => [name, own.map((one, i) => worthOf(requests[i]!, one, price))]),
  );
  const options = { random: splitmix64(11), resamples };
  const { difference, low, high } = pairedBootstrap(each.get("after")!, each.get("before")!, options);
  return {
    weight: price.weight,
    ...{ gain: significant(difference), gain_low: significant(low), gain_high: significant(high) },
    escalated: significant(mean(choices["after"]!.map(({ escalates }) => Number(escalates)))),
    ...Object.fromEntries([...each].map(([name, values]) => [name, significant(mean(values))])),
  };
}

/**
 * The plan of the most predicted worth by what is known before; plans: each arm, and those of
 * `first`: each small arm, with the large one behind it where it was unsure.
 */
function chosen(requests: readonly Escalated[], price: Price, first: readonly Choice[][]): Choice[] {
  const models = heldOut(requests.length, (of) => {
    const plans = [
      ...asked.map((_, arm) => of.map((): Choice => ({ arm, escalates: false }))),
      ...first.map((_, arm) => escalating(requests, arm, price, of)),
    ];
    return plans.map((plan) =>
      fitRidge(
        of.map((i) => requests[i]!.before),
        plan.map((choice, k) => worthOf(requests[of[k]!]!, choice, price)),
      ),
    );
  });
  return requests.map((one, i) => {
    const values = models[i]!.map((predict) => predict(one.before));
    const best = values.indexOf(Math.max(...values));
    return best < asked.length ? { arm: best, escalates: false } : first[best - asked.length]![i]!;
  });
}

/**
 * Choices for the requests at the indices `of`: the small arm, and behind it the large one where
 * its predicted gain exceeds its price. Held out within `of`.
 */
function escalating(requests: readonly Escalated[], arm: number, price: Price, of: readonly number[]): Choice[] {
  const models = heldOut(of.length, (part) => {
    const own = part.map((k) => requests[of[k]!]!);
    const gain = fitRidge(
      own.map((one) => features(one, arm)),
      own.map(({ score }) => score[large]! - score[arm]!),
    );
    const cost = costOf(own, large);
    return (one: Escalated) => gain(features(one, arm)) - (price.weight * cost(one)) / price.unit;
  });
  return of.map((i, k) => ({ arm, escalates: models[k]!(requests[i]!) > 0 }));
}

/** Mean CPU seconds of an arm in a request's domain. */
function costOf(requests: readonly Escalated[], arm: number): (one: Escalated) => number {
  const means = new Map(
    domains.map((domain) => {
      const own = requests.filter((one) => one.domain === domain);
      return [domain, mean((own.length > 0 ? own : requests).map(({ cpu }) => cpu[arm]!))];
    }),
  );
  return ({ domain }) => means.get(domain)!;
}
