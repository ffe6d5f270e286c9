// Caches made before the requests come, by the code of `kv build`, and what they take.
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { buildCaches } from "../../pipelines/generate/build-caches.ts";
import type { Session } from "../../pipelines/session.ts";
import { demoTenant } from "../../tools/demo/sample-data.ts";
import type { BenchContext } from "../benchmark.ts";
import type { Used } from "../support/overhead.ts";
import { significant } from "../support/statistics.ts";
import { type Arm, armConfig, asking } from "./arms.ts";
import type { Sitting } from "./log.ts";
import { domains } from "./stream.ts";

/** Caches of the examples that the requests were shown, each behind its domain's system prompt. */
export async function build(
  { progress, signal }: BenchContext,
  session: Session,
  of: Arm,
  used: Used,
): Promise<Sitting["build"]> {
  const before = used();
  const total = { examples: 0, caches: 0, tokens: 0, disk_mib: 0 };
  for (const name of of.only === undefined ? domains : [of.only]) {
    const domain = sharingDomain(demoTenant, name);
    const [shown] = await session.clickhouse.query<{ count: string }>(
      "SELECT uniqExact(example_id) AS count FROM example_uses FINAL WHERE domain = {domain:String}",
      { domain },
    );
    const top = Number(shown?.count);
    if (top === 0) continue;
    const bar = progress(`caches of examples of ${name} (kept for later runs)`, top, "examples");
    const arm = { ...armConfig(of), system: asking[name].system };
    const onProgress = ({ done }: { done: number }): void => bar.update(done);
    const made = await buildCaches(session, arm, { domain, top, signal, onProgress });
    bar.finish();
    total.examples += made.done;
    total.caches += made.caches;
    total.tokens += made.tokens;
    total.disk_mib = Math.round(made.bytes / 1_048_576);
    signal.throwIfAborted();
  }
  return { ...total, cpu_s: significant(used().ours - before.ours) };
}
