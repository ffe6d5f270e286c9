// Two-stage selection (docs/design/selection.md): nearest examples of the domain, found once; their
// helpfulness for each arm, in one call; each arm's choice. One path for serving and `precedent
// select`. Rejects only for bugs.
import { isSafe } from "../../algorithms/selection/example-traits.ts";
import { createHelpfulnessFeatures, type CandidateFacts } from "../../algorithms/selection/helpfulness-features.ts";
import { bestLast, ordered, type ExampleOrder } from "../../algorithms/selection/example-order.ts";
import type { PrefixCandidate } from "../../algorithms/selection/live-prefixes.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { nothingShared, type SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Config } from "../../config/schema.ts";
import type { Documents } from "../../connections/documents/port.ts";
import type { Candidate, ExampleSearch } from "../../state/examples/port.ts";
import { SimilarityDegraded } from "../../state/examples/remote/degraded.ts";
import type { PromptMemory } from "../../state/prefixes/prompt-memory.ts";
import { VectorError } from "../../state/vectors/port.ts";
import type { StepContext } from "../../runtime/step.ts";
import { findDocuments } from "../documents.ts";
import type { Embedded, NearMiss } from "../flow.ts";
import { mayReuse, type ReuseSettings } from "../../arms/reuse/settings.ts";
import { type CacheInventory, exampleHash } from "../../state/inventory/table.ts";
import type { Chosen, Rated } from "./choose.ts";
import { drawOrder, explore } from "./explore.ts";
import { continuedTurn, keptChoice } from "./kept.ts";
import { choosePreferringCached, choosePreferringPrefix } from "./prefer.ts";
import { rate, type RatingModel, type Ratings } from "./rate.ts";
import { roomFor, tokensWithin, type RoomyArm } from "./room.ts";
import { reusable } from "./reuse.ts";
import { unfit, type Asker, type Unfit } from "./screen.ts";

export interface SelectArm extends RoomyArm {
  name: string;
  model: string;
  cost: number;
  examples: boolean;
  /** Order of its examples; absent: the most helpful last. */
  order?: ExampleOrder;
  /** Settings of the arm that gives an example's answer as it is (reuse.ts). */
  reuse?: ReuseSettings | undefined;
}

export interface SelectionDependencies {
  pool: Pick<ExampleSearch, "nearest"> & Partial<Pick<ExampleSearch, "get">>;
  selection: SelectionConfig;
  arms: () => readonly SelectArm[];
  clock: () => number;
  random: Random;
  /** The model in force; null, the default: similarity stands in. */
  helpfulnessModel?: () => RatingModel | null;
  /** tau for what the model predicts; 0.5 by default: neither helps nor hurts. */
  threshold?: () => number;
  /** Which tenants share examples; by default none do. */
  sharing?: SharedDomains;
  /** The documents that requests name: they take room from examples. By default there are none. */
  documents?: Documents;
  /** Rewarded uses of an example and their mean, [0, 1]; null: unknown. */
  outcomes?: (id: string) => { uses: number; outcome: number | null } | undefined;
  /** Which examples the arms have in their caches. By default nothing is known. */
  caches?: CacheInventory;
  /** Beginnings of recent prompts. Absent: none are kept. */
  memory?: Pick<PromptMemory, "longest" | "keptOf">;
}

export type SelectionConfig = Pick<
  Config["selection"],
  | "examples"
  | "candidates"
  | "minimumSimilarity"
  | "tokenBudget"
  | "nearDuplicate"
  | "explore"
  | "cachedBonus"
  | "prefixBonus"
>;

/** Its logger is made when it is read: few requests have anything to say. */
type Logging = Pick<StepContext, "log">;

export type Asked = Pick<Embedded, "request" | "domain" | "question" | "embedding">;

export interface Selection {
  /** Choice of every arm; arms that are shown no examples have an empty one. */
  byArm: ReadonlyMap<string, Chosen>;
  /** Tokens that the examples of an arm may have; arms that are shown none are not in it. */
  budgets: ReadonlyMap<string, number>;
  candidates: number;
  /** tau in force, and the one tried instead. */
  threshold: number;
  exploredThreshold: number | null;
  /** Version of the helpfulness model that predicted; 0: similarity stood in. */
  helpfulnessVersion: number;
  nearMiss: NearMiss | null;
  /**
   * examples: the index is away; similarity: only popular examples were searched; helpfulness: the
   * model failed.
   */
  degraded: ("examples" | "similarity" | "helpfulness")[];
}

interface Screened {
  candidate: Candidate;
  tokens: number;
  unfit: Unfit | null;
}

const neutral = 0.5;
const noChoice: Chosen = { examples: [], order: bestLast, trial: null, settled: [], open: 0, verdicts: [] };
const noVector = new Float32Array(0);

export function createSelection(dependencies: SelectionDependencies) {
  const { pool, selection, arms, clock, random } = dependencies;
  const {
    helpfulnessModel = () => null,
    threshold = () => neutral,
    outcomes = () => undefined,
    documents,
    caches,
    memory,
  } = dependencies;
  const { sharing = nothingShared } = dependencies;
  const features = createHelpfulnessFeatures();

  const factsOf = ({ example, similarity, vector, traits }: Candidate): CandidateFacts => {
    const { request, response, quality, source } = example;
    const writer = arms().find(({ name, model }) => name === source.arm && model === source.model);
    const { uses, outcome } = outcomes(example.id) ?? { uses: 0, outcome: null };
    const sourceCost = writer?.cost ?? null;
    return { request, response, vector, tokens: traits, similarity, quality, sourceCost, uses, outcome };
  };

  async function nearest(
    { domain, embedding }: Asked,
    sharedDomain: string | null,
    context: Logging,
  ): Promise<{ candidates: Candidate[]; degraded: "examples" | "similarity" | null }> {
    if (embedding === null) return { candidates: [], degraded: null };
    let failure: VectorError | undefined;
    const within = async (where: string): Promise<Candidate[]> => {
      try {
        return await pool.nearest(where, embedding, selection.candidates, clock());
      } catch (error) {
        if (!(error instanceof VectorError)) throw error;
        failure = error;
        return error instanceof SimilarityDegraded ? error.popular : [];
      }
    };
    const found = await Promise.all([domain, ...(sharedDomain === null ? [] : [sharedDomain])].map(within));
    const candidates =
      found.length === 1
        ? found[0]!
        : found
            .flat()
            .sort((one, other) => other.similarity - one.similarity)
            .slice(0, selection.candidates);
    if (failure === undefined) return { candidates, degraded: null };
    if (failure instanceof SimilarityDegraded) {
      context.log.debug({ err: failure }, "popular examples only");
      return { candidates, degraded: "similarity" };
    }
    context.log.warn({ err: failure }, "no candidates: the request goes on without examples");
    return { candidates: [], degraded: "examples" };
  }

  function keptByArm(
    { request, domain }: Asked,
    showing: readonly SelectArm[],
    rooms: readonly number[],
    asker: Omit<Asker, "vector">,
  ): Map<string, Chosen> {
    const kept = new Map<string, Chosen>();
    const { get } = pool;
    const conversation = memory === undefined || get === undefined ? null : continuedTurn(request);
    if (conversation === null || get === undefined) return kept;
    showing.forEach((arm, a) => {
      const prompt = memory?.keptOf(domain, conversation, arm.name);
      if (prompt === undefined) return;
      const choice = keptChoice(prompt, { get }, asker, { sharing, room: rooms[a]!, now: clock() });
      if (choice !== null) kept.set(arm.name, choice);
    });
    return kept;
  }

  return async function select(asked: Asked, context: Logging): Promise<Selection> {
    const { request, domain, question } = asked;
    const current = arms();
    const sharedDomain = sharing.sharedDomainOf(domain);
    // What goes to the endpoint as it is stays as it is.
    const isPlain = request.passthrough === null;
    const reusing = current.find(({ reuse }) => reuse !== undefined && mayReuse(request, reuse));
    const showing =
      selection.examples > 0 && isPlain ? current.filter((arm) => arm.examples && arm.reuse === undefined) : [];
    const { candidates, degraded } =
      showing.length === 0 && reusing === undefined
        ? { candidates: [], degraded: null }
        : await nearest(asked, sharedDomain, context);
    const vector = asked.embedding ?? noVector;
    const asker = { requestId: request.id, tenant: request.tenant, domain, sharedDomain, vector };
    const space = {
      messages: request.messages,
      documents: documents
        ? findDocuments(documents, request.tenant, request.documents).pieces.map(({ text }) => text)
        : [],
      question,
      maxTokens: request.params.maxTokens,
    };
    const rooms = showing.map((arm) => roomFor(arm, space, selection.tokenBudget));
    const most = Math.max(0, ...rooms);

    const screened = candidates.map((candidate): Screened => {
      const reason = unfit(candidate, asker, selection.minimumSimilarity, sharing);
      const { example, traits } = candidate;
      const tokens = reason === null ? tokensWithin(example, most, traits?.tokens) : 0;
      const readable = reason === null && tokens <= most;
      return { candidate, tokens, unfit: readable && !(traits?.isSafe ?? isSafe(example)) ? "unsafe" : reason };
    });
    const foreign = screened.filter((one) => one.unfit === "foreign").length;
    if (foreign > 0)
      context.log.error({ domain, foreign }, "the pool gave examples of another domain: they are not shown");

    const fit = screened.filter((one) => one.unfit === null && one.tokens <= most);
    const facts = fit.map(({ candidate }) => factsOf(candidate));
    const ratings = await rate(features, { text: question, vector }, facts, showing, helpfulnessModel());
    if (ratings.failure !== null)
      context.log.warn({ err: ratings.failure }, "the helpfulness model failed: similarity stands in");

    const learned = ratings.version > 0;
    // While helpfulness is similarity, its threshold is the one of similarity.
    const inForce = learned ? finite(threshold(), neutral) : Math.max(0, selection.minimumSimilarity);
    const kept = keptByArm(asked, showing, rooms, asker);
    // Independent of kept examples: arms whose examples are selected now are compared alike.
    const exploration = explore(random, fit.length === 0 ? nothingToLearn : selection.explore, learned);
    const orderOf = drawOrder(random, fit.length === 0 ? 0 : selection.explore.orders);
    const hasInventory = showing.some(({ name }) => caches?.tells(name));
    const hashes = hasInventory ? fit.map(({ candidate }) => exampleHash(candidate.example.id)) : [];
    const byArm = new Map<string, Chosen>(current.map(({ name }) => [name, noChoice]));
    showing.forEach((arm, a) => {
      const again = kept.get(arm.name);
      if (again !== undefined) return void byArm.set(arm.name, again);
      const cached = hashes.map((hash) => caches?.has(arm.name, hash) === true);
      const rated = withRatings(screened, fit, ratings, a, cached);
      const limits = {
        ...selection,
        ...{ threshold: exploration.threshold ?? inForce, tokenBudget: rooms[a]!, tenant: request.tenant },
      };
      const rule = arm.order ?? bestLast.order;
      const longest = (among: readonly PrefixCandidate[], count: number, loss: number): string[] =>
        memory?.longest(arm.name, domain, among, count, loss) ?? [];
      const chosen =
        rule === "shared_prefix"
          ? choosePreferringPrefix(rated, limits, exploration.trial, longest)
          : choosePreferringCached(rated, limits, exploration.trial);
      const drawn = orderOf(rule);
      chosen.order = drawn;
      // They come in the order of best_last.
      if (drawn.order !== bestLast.order) {
        const first = drawn.order === "shared_prefix" ? longest(chosen.examples, chosen.examples.length, Infinity) : [];
        chosen.examples = ordered(chosen.examples, drawn.order, random, first);
      }
      byArm.set(arm.name, chosen);
    });
    let nearMiss: NearMiss | null = null;
    if (reusing?.reuse !== undefined) {
      // Its own limits hold, not those of a prompt.
      // An answer of another tenant is an example at most.
      const alone = { ...asker, sharedDomain: null };
      const readable = screened.flatMap(({ candidate }) =>
        unfit(candidate, alone, -1, sharing) === null ? [candidate] : [],
      );
      const found = reusable({ request, question }, readable, reusing.reuse);
      if (found.kept !== null) byArm.set(reusing.name, { ...noChoice, examples: [found.kept] });
      if (found.nearMiss !== null) nearMiss = { arm: reusing.name, example: found.nearMiss };
    }
    return {
      byArm,
      budgets: new Map(showing.map(({ name }, a) => [name, rooms[a]!])),
      candidates: screened.length,
      threshold: inForce,
      exploredThreshold: exploration.threshold,
      helpfulnessVersion: ratings.version,
      nearMiss,
      degraded: [
        ...(degraded === null ? [] : [degraded]),
        ...(ratings.failure === null ? [] : ["helpfulness" as const]),
      ],
    };
  };
}

const nothingToLearn = { trials: 0, thresholds: 0, grid: [] };
const finite = (value: number, otherwise: number): number => (Number.isFinite(value) ? value : otherwise);

/** Ratings and caches of arm `a`, given to the rated candidates. */
function withRatings(
  screened: readonly Screened[],
  fit: readonly Screened[],
  ratings: Ratings,
  a: number,
  cached: readonly boolean[],
): Rated[] {
  const { helpfulness, features } = ratings;
  const featuresOf = (row: number): number[] => (row < 0 ? [] : features(a, row));
  let i = 0;
  return screened.map((one): Rated => {
    const rated = one === fit[i];
    const row = rated ? i++ : -1;
    const { example, similarity, vector } = one.candidate;
    // Written out: what V8 makes of `{ ...candidate, tokens }` outlives every young collection
    // (seen: 18 % of all that a selection allocates).
    return {
      example,
      similarity,
      vector,
      tokens: one.tokens,
      unfit: one.unfit,
      cached: rated && cached[row] === true,
      helpfulness: rated ? helpfulness[a * fit.length + row]! : Number.NaN,
      row,
      features: featuresOf,
    };
  });
}
