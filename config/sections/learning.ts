// How arms are chosen and what is learned from their rewards.
import { z } from "zod";
import { count, countOrNone, factor, milliseconds, millisecondsOrNone, millisecondsUpTo, name } from "./common.ts";

export const routing = z.strictObject({
  /** Price of cost in quality; 0: quality only. */
  costWeight: factor.default(0.3),
  /** Cost weight by tenant; a request's own goes first. */
  tenantCostWeights: z.record(z.string(), factor).default({}),
  /** Quality known to within this is hardly explored. */
  indifference: z.number().min(0).max(1).default(0.1),
  /** Share of the requests whose arm is drawn evenly. */
  explorationFloor: z.number().min(0).max(0.5).default(0),
  /** Arm that answers when routing is degraded; absent: the first. */
  defaultArm: name.optional(),
  /** estimated: variances are fitted to all rewards; fixed: each arm alone. */
  variances: z.enum(["estimated", "fixed"]).default("estimated"),
  /** tenant: rewards count for their own tenant only (docs/learning.md). */
  statistics: z.enum(["shared", "tenant"]).default("shared"),
  /** Tenants that have their own; the others have the prior. */
  mostTenants: z.number().int().min(1).max(200).default(50),
  /** Penalty on expensive arms in overload (docs/routing.md). */
  load: z
    .strictObject({
      /** Mean utilisation of expensive arms from which they are penalised. */
      threshold: factor.default(0.8),
      /** Largest penalty of a unit of cost; 0: off. */
      weight: factor.optional(),
    })
    .prefault({}),
  /** Penalty on an arm for its own utilisation (docs/routing.md). */
  saturation: z
    .strictObject({
      /** Utilisation from which it is penalised. */
      threshold: factor.default(2),
      /** Largest penalty; 0: off. */
      weight: factor.optional(),
    })
    .prefault({}),
  /** Circuit breakers (docs/arms.md). */
  breaker: z
    .strictObject({
      /** Calls within 30 s before it may open. */
      minimum: z.number().int().min(1).max(100).default(5),
      /** How long it is open at first; doubled by each failed probe, up to 12 times as long. */
      openMs: milliseconds.default(5_000),
    })
    .prefault({}),
  /** Arms that may take over a request when the chosen one fails; 0: none. */
  fallbacks: z.number().int().min(0).max(8).default(1),
  /** Share of requests with mayAsk that ask for feedback at random. */
  askShare: z.number().min(0).max(1).default(0.01),
  /** Alternative answers for comparison (docs/learning.md). */
  alternativeAnswers: z
    .strictObject({
      /** Share of a tenant's requests that get an alternative answer; 0: none. */
      share: z.number().min(0).max(1).default(0.1),
      /** Alternative answers of a tenant in an hour, per plan process. */
      perTenantHour: countOrNone.default(100),
    })
    .prefault({}),
});

export const learn = z.strictObject({
  /** Between two passes; raise it where ClickHouse serves many processes. */
  everyMs: millisecondsUpTo(86_400_000).default(2_000),
  /** Half-life of a reward's weight. */
  halfLifeHours: z.number().min(0.01).max(876_000).default(168),
  /** Age of the newest version before one with few changes (1 %) is published. */
  settleMs: millisecondsOrNone.default(60_000),
  /** How much feedback counts. */
  feedback: z
    .strictObject({
      /** Feedback of a tenant and source that counts in an hour. */
      perSourceHour: count.default(100_000),
      /** Feedback of one author that counts in an hour. */
      perAuthorHour: count.default(1_000),
    })
    .prefault({}),
  /** Compares unrated answers (docs/learning.md, The automatic judge). */
  judge: z
    .strictObject({
      /** Arm that judges; absent: no automatic judge. */
      arm: name.optional(),
      /** Arm that gives the other answer; absent: only alternative answers are judged. */
      reference: name.optional(),
      /** Share of the answers that are drawn. */
      share: z.number().min(0).max(1).default(0.05),
      /** Age of an answer before it may be drawn. */
      afterMinutes: z.number().min(0).max(525_600).default(10),
      /** Verdicts in each order. */
      samples: z.number().int().min(1).max(16).default(2),
      /** Comparisons in an hour, all tenants together. */
      perHour: z.number().int().min(1).max(100_000).default(60),
      /** Comparisons of one tenant in an hour. */
      perTenantHour: count.default(20),
      /** Money for judging in 24 hours; absent: no limit. */
      spendLimit: z.number().min(0).max(1e12).optional(),
    })
    .prefault({}),
  /** The model of which examples help. */
  helpfulness: z
    .strictObject({
      /** Hours between two trainings; absent: by command alone. */
      everyHours: z.number().min(0.01).max(500).optional(),
      /** Rows of evidence before it is trained. */
      minimumRows: count.default(500),
    })
    .prefault({}),
  /** The helpfulness that an example must have to be shown. */
  threshold: z
    .strictObject({
      /** Rewarded requests under both thresholds before one is replaced. */
      minimumRequests: z.number().int().min(2).max(1_000_000_000).default(200),
      /** Price of 1,000 tokens of examples, in quality. */
      tokenPrice: factor.default(0.05),
    })
    .prefault({}),
});
