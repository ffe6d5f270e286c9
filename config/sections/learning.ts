// How arms are chosen and what is learned from their rewards.
import { z } from "zod";
import { count, countOrNone, factor, factorAboveNone, milliseconds, millisecondsOrNone, name } from "./common.ts";

export const routing = z.strictObject({
  /** lambda_c: the price of cost in quality; 0: quality only. */
  costWeight: factor.default(0.3),
  /** The same for the requests of the tenants named here; a request's own costWeight goes first. */
  tenantCostWeights: z.record(z.string(), factor).default({}),
  /**
   * Quality known to within this is hardly explored: samples have the deviation d² / (d +
   * indifference), where Thompson sampling (0) has d.
   */
  indifference: z.number().min(0).max(1).default(0.1),
  /**
   * Share of the requests whose arm is drawn evenly from those that they allow, whatever was
   * learned; part of the logged propensity. 0: none.
   */
  explorationFloor: z.number().min(0).max(0.5).default(0),
  /** Arm that answers when routing is degraded; the first by default. */
  defaultArm: name.optional(),
  /**
   * estimated: the prior's variances are fitted to the rewards, and arms share what is common;
   * fixed: each arm alone, with the variances of docs/design/routing.md.
   */
  variances: z.enum(["estimated", "fixed"]).default("estimated"),
  /**
   * shared: rewards and comparisons count for all tenants; tenant: for their own tenant only, and
   * one without rewards has the prior (docs/learning.md).
   */
  statistics: z.enum(["shared", "tenant"]).default("shared"),
  /**
   * With statistics by tenant: at most this many tenants, those with the most recent rewards, have
   * their own; the others have the prior.
   */
  mostTenants: z.number().int().min(1).max(200).default(50),
  /**
   * Overload of the arms more expensive than the cheapest: a penalty that grows with the cost of an
   * arm (routing.md).
   */
  load: z
    .strictObject({
      /**
       * L*: utilisation of the more expensive arms from which it presses; 1 is as many requests as
       * they take at a time.
       */
      threshold: factor.default(0.8),
      /** How steeply it rises from there. */
      gamma: factorAboveNone.default(3),
      /**
       * lambda0: quality that a full unit of cost loses at the most; absent: so much that the
       * cheapest arm wins surely; 0 turns it off.
       */
      weight: factor.optional(),
    })
    .prefault({}),
  /** What an arm loses for its own utilisation, the cheapest too (routing.md). */
  saturation: z
    .strictObject({
      /**
       * Utilisation of an arm from which it loses; 2: as many requests wait as it takes at a time.
       */
      threshold: factor.default(2),
      /** How steeply it rises from there. */
      gamma: factorAboveNone.default(1),
      /**
       * Quality that it loses at the most; absent: so much that an idle arm wins surely, whatever
       * both are worth and cost; 0 turns it off.
       */
      weight: factor.optional(),
    })
    .prefault({}),
  /**
   * A circuit breaker per arm: an arm that fails (no connection, 429, 5xx, timeouts, crashes) is
   * not chosen while others can be (docs/arms.md).
   */
  breaker: z
    .strictObject({
      /** Calls within 30 s before it may open. */
      minimum: z.number().int().min(1).max(100).default(5),
      /** How long it is open at first; doubled by every probe that fails, up to mostOpenMs. */
      openMs: milliseconds.default(5_000),
      mostOpenMs: milliseconds.default(60_000),
    })
    .prefault({}),
  /**
   * Arms that may take over a request, one after the other, when the chosen one fails by its own
   * fault (docs/arms.md); 0: none.
   */
  fallbacks: z.number().int().min(0).max(8).default(1),
  /**
   * Share of the requests, among those whose clients may be asked (mayAsk), that ask for feedback
   * at random.
   */
  askShare: z.number().min(0).max(1).default(0.01),
  /**
   * Alternative answers for comparison, where arms are nearly even and the request allows it
   * (mayCompare). Each plan process counts its own, by the hour.
   */
  alternativeAnswers: z
    .strictObject({
      /** Share of the requests of a tenant that get one; 0: none. */
      share: z.number().min(0).max(1).default(0.1),
      /** Alternative answers that a tenant gets in an hour. */
      perTenantHour: countOrNone.default(100),
    })
    .prefault({}),
});

export const learn = z.strictObject({
  /** Time between two looks at what is new. */
  everyMs: milliseconds.default(2_000),
  /** Half-life of a reward's weight, hours. */
  halfLifeHours: z.number().min(0.01).max(876_000).default(168),
  /**
   * What changes less than a hundredth of the rewards is published only when the newest version is
   * this old, in milliseconds.
   */
  settleMs: millisecondsOrNone.default(60_000),
  /** How much feedback counts: excess is stored, and marked in feedback_excess. */
  feedback: z
    .strictObject({
      /** Feedback of a tenant and source (person, judge, system) that counts in an hour. */
      perSourceHour: count.default(100_000),
      /** Feedback of one author (Feedback.author) of them that counts in an hour. */
      perAuthorHour: count.default(1_000),
    })
    .prefault({}),
  /** Unrated answers are compared by an arm (docs/learning.md, The automatic judge). */
  judge: z
    .strictObject({
      /** Arm that judges; absent: no automatic judge. */
      arm: name.optional(),
      /**
       * Gives the other answer where a request has none: an arm without examples. Absent: only
       * requests with an alternative answer are judged.
       */
      reference: name.optional(),
      /** Share of the answers that are drawn, by chance. */
      share: z.number().min(0).max(1).default(0.05),
      /** Answers are drawn from so many minutes on, when people had time to rate them. */
      afterMinutes: z.number().min(0).max(525_600).default(10),
      /** Verdicts of each order. */
      samples: z.number().int().min(1).max(16).default(2),
      /** Comparisons in an hour, of all tenants and of one. */
      perHour: z.number().int().min(1).max(100_000).default(60),
      perTenantHour: count.default(20),
      /** Money (in the prices' currency) for judging in 24 hours; absent: no limit. */
      spendLimit: z.number().min(0).max(1e12).optional(),
      /** No judging while the busiest arm is above this load (curate.exampleReplay.offPeak). */
      offPeakLoad: factor.default(0.5),
      /** Time between two looks. */
      everyMs: milliseconds.default(60_000),
    })
    .prefault({}),
  /** The model of which examples help. */
  helpfulness: z
    .strictObject({
      /** Hours between two trainings; absent: only when `precedent helpfulness train` is run. */
      everyHours: z.number().min(0.01).max(500).optional(),
      /** Rows of evidence before it is trained. */
      minimumRows: count.default(500),
      /** Rows that it is trained on at most: trials first, the newest of each kind. */
      rows: z.number().int().min(1).max(1_000_000).default(50_000),
    })
    .prefault({}),
  /** The helpfulness that an example must have to be shown. */
  threshold: z
    .strictObject({
      /** Time between two looks at how the thresholds do. */
      everyMs: milliseconds.default(60_000),
      /**
       * Rewarded requests under a threshold, and under the one in force, before it can take its
       * place.
       */
      minimumRequests: z.number().int().min(2).max(1_000_000_000).default(200),
      /** Price of 1,000 tokens of examples, in quality. */
      tokenPrice: factor.default(0.05),
    })
    .prefault({}),
});
