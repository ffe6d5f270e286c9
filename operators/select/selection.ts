// Two-stage selection (docs/design/selection.md): nearest examples of the domain, found once; their
// helpfulness for each arm, in one call; each arm's choice. One path for serving and `precedent
// select`. Rejects only for bugs.
import { bestLast } from "../../algorithms/selection/example-order.ts";
import { createHelpfulnessFeatures, type CandidateFacts } from "../../algorithms/selection/helpfulness-features.ts";
import { nothingShared } from "../../algorithms/selection/shared-domains.ts";
import { mayReuse } from "../../arms/reuse/settings.ts";
import type { StepContext } from "../../runtime/step.ts";
import type { Candidate } from "../../state/examples/port.ts";
import { exampleHash } from "../../state/inventory/table.ts";
import { findDocuments } from "../documents.ts";
import type { NearMiss } from "../flow.ts";
import { chooseForArm } from "./arm-choice.ts";
import type { Chosen } from "./choose.ts";
import { drawOrder, explore } from "./explore.ts";
import { createFind, nothingFound } from "./find.ts";
import { continuedTurn, keptChoice } from "./kept.ts";
import { rate } from "./rate.ts";
import { reusable } from "./reuse.ts";
import { roomFor } from "./room.ts";
import { unfit, type Asker } from "./screen.ts";
import { screen, withRatings } from "./screened.ts";
import type { Asked, SelectArm, Selection, SelectionDependencies } from "./selection-types.ts";

/** Its logger is made when it is read: few requests have anything to say. */
type Logging = Pick<StepContext, "log">;

const neutral = 0.5;
const noChoice: Chosen = { examples: [], order: bestLast, trial: null, settled: [], open: 0, verdicts: [] };
const noVector = new Float32Array(0);
const nothingToLearn = { trials: 0, thresholds: 0 };

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
  const find = createFind({ pool, most: selection.candidates, clock });

  const factsOf = ({ example, similarity, vector, traits }: Candidate): CandidateFacts => {
    const { request, response, quality, source } = example;
    const writer = arms().find(({ name, model }) => name === source.arm && model === source.model);
    const { uses, outcome } = outcomes(example.id) ?? { uses: 0, outcome: null };
    const sourceCost = writer?.cost ?? null;
    return { request, response, vector, tokens: traits, similarity, quality, sourceCost, uses, outcome };
  };

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
        ? nothingFound
        : await find([domain, ...(sharedDomain === null ? [] : [sharedDomain])], asked.embedding, context);
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

    const limit = { most, minimumSimilarity: selection.minimumSimilarity, sharing };
    const screened = candidates.map((candidate) => screen(candidate, asker, limit));
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
      const chosen = chooseForArm(rated, {
        ...{ limits, trial: exploration.trial, order: arm.order, orderOf, random },
        longest: (among, count, loss) => memory?.longest(arm.name, domain, among, count, loss) ?? [],
      });
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

const finite = (value: number, otherwise: number): number => (Number.isFinite(value) ? value : otherwise);
