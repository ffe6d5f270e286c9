// Asks what is missing through the stages, one request at a time, all arms of a request before the
// next, and logs each answer with the CPU time of all processes.
import type { Example } from "../../schemas/types.ts";
import type { Client } from "../../tools/demo/client.ts";
import type { BenchContext } from "../benchmark.ts";
import { commit } from "../support/machine.ts";
import { spent, type Used } from "../support/overhead.ts";
import { type Arm, asking, settingsOf } from "./arms.ts";
import { type Answers, appendRow, keyOf, type Row } from "./log.ts";
import { type Domain, type Item, smallerDomain, withFixed } from "./stream.ts";

/** An arm that answers at once. */
export const noModel = "none";
const timeoutMs = 1_800_000;

export interface Wanted {
  item: Item;
  arm: Arm;
}

export interface Asking {
  arms: readonly Arm[];
  pool: readonly Example[];
  answers: Answers;
  file: string;
  /** No answer is begun later than so many seconds from the first. */
  seconds: number;
}

export async function askAll(
  { progress, signal, note }: BenchContext,
  { arms, pool, answers, file, seconds }: Asking,
  missing: readonly Wanted[],
  client: Client,
  used: Used,
): Promise<void> {
  const responses = new Map(pool.map(({ id, response }) => [id, response]));
  const measuredCommit = commit();
  // What is made at the first request of an arm is none of those measured.
  for (const { name } of arms) await client.ask("print the working directory", { arm: name, timeoutMs, maxTokens: 8 });
  const began = performance.now();
  const bar = progress("answers of every arm (kept for later runs)", missing.length, "answers");
  let before = used();
  for (const [done, { item, arm }] of missing.entries()) {
    if (signal.aborted || performance.now() - began > 1_000 * seconds) break;
    const { domain, position, hash } = item;
    const answered = await client
      .ask(item.request, { arm: arm.name, timeoutMs, ...askingOf(arm, domain, pool) })
      .catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
    if (answered === undefined) break;
    const { response, decision } = answered;
    const after = used();
    const cpu = spent(after, before);
    before = after;
    const score = decision?.arms.find((one) => one.arm === arm.name);
    if (response.status !== "ok" || score === undefined || decision?.degraded.length !== 0) {
      const why = response.error?.message ?? decision?.degraded.join() ?? "no decision";
      note(`${arm.name}, request ${position}: ${why}`);
      continue;
    }
    const nearest = score.examples.toSorted((a, b) => b.similarity - a.similarity)[0];
    const copied = nearest && responses.get(nearest.id);
    const row: Row = {
      ...{ position, hash, domain, arm: arm.name, settings: settingsOf(arm) },
      ...{ score: item.score(response.text), lenient: item.lenient(response.text), shown: score.examples.length },
      copy: copied === undefined ? null : item.score(copied),
      similarity: nearest?.similarity ?? null,
      cpu,
      firstTokenMs: response.timings.firstToken,
      usage: tokensOf(response.usage),
      finish: response.finishReason,
      context: score.context,
      commit: measuredCommit,
    };
    answers.rows.set(keyOf(row), row);
    await appendRow(file, { ...row, text: response.text, examples: response.exampleIds });
    bar.update(done + 1);
  }
  bar.finish();
}

const tokensOf = ({ prompt, linked, recomputed, prefilled, completion }: Row["usage"]): Row["usage"] => ({
  ...{ prompt, linked, recomputed, prefilled, completion },
});

/** How a client asks this arm. */
function askingOf({ pool: count, written = false, fixed }: Arm, domain: Domain, pool: readonly Example[]) {
  const { system, ...rest } = asking[domain];
  return {
    ...rest,
    domain: count === undefined ? domain : smallerDomain(domain, { count, written }),
    system: fixed === undefined ? system : withFixed(system, pool, domain, fixed),
  };
}

/** Milliseconds. */
export async function askNoModel(client: Client, { request, domain }: Item): Promise<number> {
  const { response } = await client.ask(request, { arm: noModel, domain, timeoutMs, ...asking[domain] });
  if (response.status !== "ok") throw new Error(`no answer without a model: ${response.error?.message ?? ""}`);
  return response.timings.total;
}
