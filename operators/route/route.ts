// Chooses the arm by Thompson sampling and logs the exact probabilities (docs/design/routing.md,
// Propensity). Needs select before it. Without usable policy or features the default arm answers
// with probability 1, and `degraded` says so. NaN never reaches the model.
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { type Load, overloadBiases, type OverloadConfig } from "../../algorithms/routing/load-bias.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { ok, refuse, type Step } from "../../runtime/step.ts";
import type { ReuseTrial } from "../../schemas/types.ts";
import type { Choice, Embedded, Routed, Selected } from "../flow.ts";
import { computing, type RouteArm } from "../../arms/routed.ts";
import type { Documents } from "../../connections/documents/port.ts";
import type { CachedShares } from "../../state/cached-shares.ts";
import { routerPrior, type PriorConfig } from "../../state/policies/prior.ts";
import { beliefsOf } from "../../state/policies/router.ts";
import type { PolicyState } from "../../state/policies/router-table.ts";
import { bypass } from "./bypass.ts";
import { missed, settleReuse, weighReuse, type ReuseBound } from "./reuse.ts";
import { alternative } from "./alternative.ts";
import { createContenders } from "./contenders.ts";
import { standing, healthyArms, type ArmHealth } from "./standing.ts";
import { scoreArms, undecided, type Contender, type Exploring, type Scored } from "./score.ts";

type Needs = Pick<
  Selected,
  "request" | "domain" | "question" | "degraded" | "embedding" | "routerVersion" | SelectedFields
>;
type SelectedFields = Exclude<keyof Selected, keyof Embedded>;
type Adds = Pick<Routed, "choice">;

/** costWeight: unless the request or its tenant's configuration says otherwise. */
export interface RouteConfig extends PriorConfig, Exploring, OverloadConfig {
  tenantCostWeights?: Readonly<Record<string, number>>;
  /** Answers when routing is degraded; the first allowed one if absent or not allowed. */
  defaultArm?: string | undefined;
  /** Share of requests, of clients that may be asked, that are asked for feedback at random. */
  askShare: number;
  /** How even the arms are where all are asked (undecided() of score.ts); 0.2 by default. */
  askWithin?: number;
}

export interface RouteDependencies {
  /** The router policy that a variant names, or the newest. */
  policy: (routerVersion?: number) => PolicyState;
  arms: () => readonly RouteArm[];
  /** Absent: prompts are bounded without documents. */
  documents?: Documents;
  load: () => Load;
  /** The arms' breakers; absent: all are closed. */
  health?: ArmHealth;
  /** Bound of a reuse arm's wrong answers; absent: 1, and the arm is off. */
  reuseBound?: ReuseBound;
  /** What engines are expected to have cached; absent: nothing. */
  cached?: Pick<CachedShares, "expected" | "chosen"> | undefined;
  /** Called for every request that an answer could be reused for, for metrics. */
  onReuse?: (trial: ReuseTrial, isChosen: boolean) => void;
  random: Random;
  clock: () => number;
  routing: RouteConfig;
}

/** Refuses with no_capable_arm (nothing declares it), too_expensive or no_arm (none allowed). */
export function createRoute(dependencies: RouteDependencies): Step<Needs, Adds> {
  const { policy, arms, load, health = healthyArms, random, clock, routing } = dependencies;
  const { reuseBound = () => 1 } = dependencies;
  const contenders = createContenders(dependencies);
  const { unknown: prior } = routerPrior(routing);
  const costWeights = new Map(Object.entries(routing.tenantCostWeights ?? {}));
  const { indifference = 0, explorationFloor = 0 } = routing;
  const exploring = { indifference, explorationFloor };
  let pressing: { arms: readonly RouteArm[]; biases: ReturnType<typeof overloadBiases> } | undefined;
  const biasesOf = (current: readonly RouteArm[]) => {
    const costs = (): number[] => computing(current).map(({ cost }) => cost);
    if (pressing?.arms !== current) pressing = { arms: current, biases: overloadBiases(costs(), routing) };
    return pressing.biases;
  };

  return function route(selected) {
    const { request } = selected;
    const degraded = [...selected.degraded];
    const embedding = selected.embedding !== null && areFinite(selected.embedding) ? selected.embedding : null;
    if (embedding === null && selected.embedding !== null) degraded.push("embedding");

    const found = contenders.of({ ...selected, embedding });
    if (found === null)
      return refuse(
        "no_capable_arm",
        `No arm declares all that the request requires: ${request.requires.join(", ")} (an openai arm's tools, vision, parameters).`,
      );
    const { allowed, leastCost, promptCharacters, cache } = found;
    const own = allowed.filter(({ arm }) => arm.reuse !== undefined);
    const {
      eligible,
      breakers,
      degraded: broken,
    } = standing(
      allowed.filter(({ arm }) => arm.reuse === undefined),
      health,
    );
    degraded.push(...broken);
    const weighed = weighReuse([...eligible, ...own], { domain: selected.domain, bound: reuseBound, random });
    const candidates = weighed.contenders;
    if (candidates.length === 0)
      return leastCost !== null
        ? refuse(
            "too_expensive",
            `The cheapest allowed arm may cost ${Number(leastCost.toPrecision(3))}, and allow.max_cost is ${request.allow.maxCost}: raise it, set a lower max_tokens, or shorten the prompt.`,
          )
        : refuse("no_arm", "No arm that the request allows can answer it: allow others (allow.arms).");

    const { policy: routerPolicy, problem } = policy(selected.routerVersion);
    const currentLoad = load();
    const usable = candidates.every(({ context }) => areFinite(context));
    let scored: Scored | null = null;
    let score: (among: readonly Contender[]) => Scored | null = () => null;
    if (!usable) degraded.push("features");
    else if (routerPolicy.featureVersion === FEATURE_VERSION && (routerPolicy.version > 0 || problem === null)) {
      const biases = { ...biasesOf(arms()), load: currentLoad };
      const costWeight = request.allow.costWeight ?? costWeights.get(request.tenant) ?? routing.costWeight;
      const weights = { ...biases, costWeight, ...exploring };
      score = (among) => {
        try {
          return scoreArms(among, beliefsOf(routerPolicy, request.tenant, selected.domain), prior, weights, random);
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          return null;
        }
      };
      scored = score(candidates);
    }
    if (scored === null && usable) degraded.push("policy");

    const others = candidates.filter(({ arm }) => arm.reuse === undefined);
    const drawn = scored ?? bypass(others.length > 0 ? others : candidates, routing, usable);
    const chosen = drawn.scores[drawn.chosen]!;
    const even = scored !== null && undecided(scored.loadFree, routing.askWithin);
    const askProbability = !request.mayAsk ? 0 : even ? 1 : routing.askShare;
    cache?.chosen(chosen.arm);
    if (breakers[chosen.arm] === "half-open") health.probed(chosen.arm);
    const answerTokens = reusedTokens(selected, weighed.trial);
    const reuse = settleReuse(weighed, { score, scored, promptCharacters, answerTokens });
    if (reuse !== null) dependencies.onReuse?.(reuse, chosen.arm === reuse.arm);
    const choice: Choice = {
      arms: drawn.scores,
      arm: chosen.arm,
      probability: chosen.probability,
      ...alternative(even ? scored : null, random, weighed.trial?.arm),
      load: Number.isFinite(currentLoad.costlier) ? currentLoad.costlier : 0,
      policyVersion: scored === null ? 0 : routerPolicy.version,
      asked: request.mayAsk && random() < askProbability,
      askProbability,
      breakers,
      reuse: reuse ?? missed(selected.nearMiss, ({ arm }) => reuseBound(arm, selected.domain)),
      createdAt: clock(),
    };
    return ok({ ...selected, degraded, choice });
  };
}

/** A loop: every() calls a function a number, with a new object for it. */
function areFinite(numbers: ArrayLike<number>): boolean {
  for (let i = 0; i < numbers.length; i++) if (!Number.isFinite(numbers[i])) return false;
  return true;
}

const reusedTokens = ({ examplesByArm }: Pick<Selected, "examplesByArm">, trial: { arm: string } | null): number =>
  estimateTokens((trial && examplesByArm.get(trial.arm)?.[0]?.response) ?? "");
