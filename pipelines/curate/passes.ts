// The pass of curate, again and again, as long as this process has the lock.
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { openAdmit } from "../../operators/admit/open.ts";
import { createErasedAmong } from "../../operators/erased.ts";
import { openEvict } from "../../operators/evict/open.ts";
import { createCurateReport } from "../../operators/pass-reports.ts";
import { createPublishChanges } from "../../operators/publish-changes.ts";
import type { Sent } from "../../runtime/declaration.ts";
import { leaseWriter } from "../../runtime/lease-writer.ts";
import { lazily, type Lazily } from "../../connections/lazily.ts";
import type { StageMetrics } from "../../runtime/metrics/port.ts";
import type { PassHealth } from "../../runtime/pass-health.ts";
import { repeat } from "../../runtime/repeat.ts";
import type { Lease } from "../../runtime/singleton.ts";
import type { SessionOf } from "../../state/session.ts";
import { holdInMemory } from "../examples.ts";
import { exampleMessages } from "./example-messages.ts";
import { curate } from "./pipeline.ts";

type CurateSession = SessionOf<typeof curate>;

export interface Run {
  instance: string;
  lease: Lease<Sent<typeof curate>>;
  passes: PassHealth;
  metrics: StageMetrics;
  log: CurateSession["log"];
}

/** Resolves when the lease ends; then everything is closed. */
export async function runPasses(session: CurateSession, { instance, lease, passes, metrics, log }: Run): Promise<void> {
  const { config, clickhouse } = session;
  const { signal } = lease;
  const clock = Date.now;
  const sharing = createSharedDomains(config.sharing);
  const isRemote = config.selection.index === "milvus";
  const held = lazily(async () => {
    if (!isRemote) return holdInMemory(session, { instance, stage: curate.name, log });
    const { keepRemoteExamples } = await import("./remote-store.ts");
    return keepRemoteExamples(session, { signal, log });
  });
  const examples = async () => {
    const store = await held.get();
    await store.restored();
    return store;
  };
  const pass = curate.bind({
    ...openAdmit(session, { examples, sharing, clock, signal, log }),
    ...openEvict(session, { clock, log }),
    publish: createPublishChanges({
      writer: leaseWriter(lease),
      messages: (changes) => exampleMessages(session, changes),
      pool: () => held.opened()?.then(({ pool }) => pool),
      erasedAmong: createErasedAmong({ clickhouse, clock }),
    }),
    ...{ observe: metrics.observe, signal },
  });
  const report = createCurateReport({ metrics, log });
  // Other processes write to the topic, too, so it is followed even without candidates.
  if (isRemote) keepOpen(held, { signal, log });
  try {
    const timing = { everyMs: config.curate.everyMs, signal, log, health: passes.of("examples") };
    await repeat(async () => report(await pass()), timing);
  } finally {
    passes.clear();
    await held.opened()?.then(
      (store) => store.stop(),
      () => undefined,
    );
  }
}

function keepOpen(held: Lazily<unknown>, { signal, log }: { signal: AbortSignal; log: Run["log"] }): void {
  held.get().catch((error: unknown) => {
    log.error({ err: error, retryInMs: reopenMs }, "examples can't be written to Milvus yet");
    setTimeout(() => {
      if (!signal.aborted) keepOpen(held, { signal, log });
    }, reopenMs).unref();
  });
}
const reopenMs = 10_000;
