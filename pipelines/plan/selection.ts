// Selection outside of plan: what a request would be shown now, and why, by the same code and the
// same tables, in a pool of its own.
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import { createSelection } from "../../operators/select/selection.ts";
import type { Selection } from "../../operators/select/selection-types.ts";
import { followTable } from "../../runtime/table.ts";
import type { IdentifiedRequest } from "../../operators/flow.ts";
import { acquireInstance } from "../../stack/instance.ts";
import { holdExamples } from "../examples.ts";
import { holdHelpfulness } from "../../state/helpfulness/helpfulness.ts";
import { outcomesNow } from "../../state/helpfulness/outcomes.ts";
import { followInventories } from "../../state/inventory/inventory.ts";
import type { Session } from "../session.ts";

export interface Inspected extends Selection {
  domain: string;
  pool: number;
  embeddingModel: string;
}

export async function holdSelection(session: Session) {
  const { config, kafka, codec, clickhouse, log } = session;
  const instance = await acquireInstance(config.stack.folder, "select");
  const closers: (() => Promise<void>)[] = [() => instance.release()];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    // plan reads them now and again; here once, so that they are there.
    const helpfulness = holdHelpfulness(session, {
      load: loadHelpfulnessModel,
      log,
      outcomes: await outcomesNow(clickhouse),
    });
    closers.push(helpfulness.stop);
    const policies = followTable({
      ...{ kafka, codec, log, topic: session.topic("policies"), record: "policies" as const },
      apply: helpfulness.apply,
    });
    closers.push(() => policies.stop());
    const examples = await holdExamples(session, { instance: instance.id, stage: "select", log });
    closers.push(examples.stop);
    const caches = followInventories(session, log);
    closers.push(caches.stop);
    await Promise.all([examples.restored(), policies.caughtUp, caches.caughtUp]);
    await helpfulness.settled();

    const choose = createSelection({
      pool: examples.pool,
      selection: { ...config.selection, explore: { ...config.selection.explore, trials: 0, thresholds: 0, orders: 0 } },
      arms: session.arms.routed,
      clock: Date.now,
      random: () => 0,
      sharing: createSharedDomains(config.sharing),
      helpfulnessModel: helpfulness.model,
      threshold: helpfulness.threshold,
      outcomes: helpfulness.outcomes,
      caches: caches.table,
    });
    return {
      /** Nothing is left to chance: neither trials nor other thresholds. */
      async select(request: IdentifiedRequest, signal: AbortSignal): Promise<Inspected> {
        const question = request.messages.findLast(({ role }) => role === "user")?.content ?? "";
        const domain = sharingDomain(request.tenant, request.domain);
        const embedding = await examples.embedder.embed(question, signal);
        const selection = await choose({ request, domain, question, embedding }, { log });
        return { ...selection, domain, pool: examples.pool.size(), embeddingModel: examples.embedder.model };
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
