// The arms that plan calls itself.
import { tenantWeight } from "../../config/tenants.ts";
import { createStageMetrics } from "../../runtime/metrics/stage.ts";
import { stageName } from "../../runtime/running-stage.ts";
import type { Breakers } from "../../state/breakers/breakers.ts";
import { watchCached, type CachedShares } from "../../state/cached-shares.ts";
import { createInlineArms, type InlineArms } from "../../state/inline-arms.ts";
import type { SessionOf } from "../../state/session.ts";
import { armOpener } from "../arms.ts";

/** Rejects when an arm can't be made. */
export function openInlineArms(
  session: SessionOf<object>,
  breakers: Pick<Breakers, "guard">,
  cached: Pick<CachedShares, "answered">,
): Promise<InlineArms> {
  const open = armOpener(session);
  return createInlineArms({
    configured: session.arms.configured,
    open: async (arm) => {
      const options = { log: session.log.child({ arm: arm.name }), weightOf: tenantWeight(session.config.limits) };
      return watchCached(await open(arm, options), cached);
    },
    guard: breakers.guard,
    metricsOf: (arm) => createStageMetrics(session.metrics, stageName("generate", arm), "inline"),
  });
}
