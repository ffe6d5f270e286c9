// What must be there before plan takes its first request: documents, policies, the helpfulness
// model, the examples and the response cache.
import { join } from "node:path";
import { openDocuments } from "../../connections/documents/lmdb.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import { openLookup, type OpenedLookup } from "../../operators/lookup/open.ts";
import { createReuseMetrics } from "../../operators/route/metrics.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import { holdDocuments, type HeldDocuments } from "../../state/documents.ts";
import { holdHelpfulness, type Helpfulness } from "../../state/helpfulness/helpfulness.ts";
import { openPolicies, type OpenedPolicies } from "../../state/policies/open.ts";
import { createSentResponses, type SentResponses } from "../../state/sent-responses.ts";
import type { SessionOf } from "../../state/session.ts";
import type { HeldExamples } from "../held-examples.ts";
import { holdExamples } from "../examples.ts";
import { plan } from "./pipeline.ts";

/** The first request does not wait longer for the helpfulness model. */
const helpfulnessMs = 10_000;

export interface PlanTables {
  documents: HeldDocuments;
  policies: OpenedPolicies;
  helpfulness: Helpfulness;
  examples: HeldExamples;
  lookup: OpenedLookup;
  sent: SentResponses;
  /** All but the documents. */
  stop(): Promise<void>;
}

export interface TablesOptions {
  instance: string;
  clock: () => number;
  log: SessionOf<object>["log"];
}

/** Resolves when they are restored; rejects when a store or the embedding model can't be opened. */
export async function openTables(
  session: SessionOf<typeof plan>,
  { instance, clock, log }: TablesOptions,
): Promise<PlanTables> {
  const folder = join(session.config.stack.folder, "documents", instance);
  const helpfulness = holdHelpfulness(session, { load: loadHelpfulnessModel, log });
  const documents = holdDocuments(session, await openDocuments(folder, session.logReplay ? () => 0 : Date.now), log);
  const onReuse = createReuseMetrics(session.metrics).domains;
  const policies = await openPolicies(session, { apply: helpfulness.apply, onReuse, clock, log });
  const examples = await holdExamples(session, { instance, stage: plan.name, log });
  await examples.restored();
  const sent = createSentResponses(session, log);
  const lookup = await openLookup(session, { sent: sent.find, log });
  await documents.caughtUp;
  await withTimeout(helpfulnessMs, helpfulness.settled());
  const { version } = policies.router.current().policy;
  log.info({ examples: examples.pool.size(), embedder: examples.embedder.model, policy: version }, "tables restored");
  return {
    ...{ documents, policies, helpfulness, examples, lookup, sent },
    async stop() {
      await Promise.all([policies.stop(), examples.stop(), helpfulness.stop()]);
      await Promise.all([lookup.stop(), sent.stop()]);
    },
  };
}
