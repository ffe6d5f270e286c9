// The same questions to the model that is shown examples, with its prompt prefilled in full, and
// with the caches of the examples linked into it: what that does to the time to the first token.
// One at a time, since two on one core would slow each other.
import pc from "picocolors";
import type { Response } from "../../../schemas/types.ts";
import type { Scene } from "../scene.ts";
import { cut } from "../screen.ts";
import { showQuery } from "../sql.ts";

const asked = 5;

export const linked: Scene = async (context) => {
  const { screen, session, client, data } = context;
  const arm = session.config.arms.findLast(({ type, examples }) => type === "llama" && examples);
  if (arm?.type !== "llama") return;
  screen.heading(
    "Reused KV caches of examples",
    `The key-value caches of examples are computed once and linked into every prompt that shows them (policy ${arm.linked.policy}). Each question is asked twice of ${arm.name}: prefilled in full, and linked.`,
  );
  const times = { full: [] as number[], linked: [] as number[] };
  // Questions whose examples have been shown before: what an arm sees most of the time.
  for (const { request } of data.questions.slice(0, asked)) {
    const ask = async (linkPolicy?: string): Promise<Response> =>
      (await client.ask(request, { scene: "linked", arm: arm.name, ...(linkPolicy && { linkPolicy }) })).response;
    const [full, fast] = [await ask("full"), await ask()];
    const [before, after] = [firstToken(full), firstToken(fast)];
    if (before === null || after === null) continue;
    times.full.push(before);
    times.linked.push(after);
    const { prompt, linked: reused, recomputed, prefilled } = fast.usage;
    const tokens = `${prompt} tokens: ${reused} linked, ${recomputed} computed again, ${prefilled} new`;
    const ms = `${before.toFixed(0).padStart(5)} → ${pc.green(after.toFixed(0).padStart(4))} ms`;
    screen.line(`  ${ms}  ${pc.dim(tokens.padEnd(58))} ${cut(request, screen.width - 78)}`);
  }
  if (times.full.length === 0) return screen.line(pc.yellow("  none of them got an answer"));
  const [full, fast] = [median(times.full), median(times.linked)];
  screen.line();
  screen.line(
    `  ${pc.bold("time to first token")}  in full ${full.toFixed(0)} ms, linked ${pc.green(fast.toFixed(0))} ms: ${pc.bold(`${(full / fast).toFixed(1)} times`)} as fast ${pc.dim("(medians)")}`,
  );
  screen.line();
  await showQuery(
    context,
    "How many tokens of its prompts were not computed again?",
    `
SELECT arm, hour, responses, prompt, linked, recomputed, prefilled, round(linked / prompt, 2) AS linked_share
FROM linked_tokens
WHERE arm = '${arm.name}'
ORDER BY hour DESC LIMIT 3`,
  );
};

/** Without the wait for a slot; null where nothing was answered by the model. */
function firstToken({ status, source, timings }: Response): number | null {
  if (status !== "ok" || source !== "generated" || timings.firstToken === null) return null;
  return timings.firstToken - timings.queue;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}
