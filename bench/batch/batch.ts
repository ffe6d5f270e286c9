// bench -- batch: what the same requests cost live and as one OpenAI batch, each at the live cost
// weight and at a higher one. The real stages and router on the embedded stack. The provider is a
// mock that answers at once with the same tokens and sells batches at half the price; what an
// answer is worth is simulated. The router has learnt that from ratings of other requests.
import { join } from "node:path";
import { startBatchProvider } from "../../test/support/batch-provider.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { onStack } from "../support/stack.ts";
import { figuresOf, type Outcome } from "./figures.ts";
import { questionsOf } from "./questions.ts";
import { withSystem, weights, type System } from "./system.ts";
import { warm } from "./warm.ts";

const sizes = { quick: 200, full: 2_000 };

export const batch: Benchmark = {
  name: "batch",
  about: "the same requests live and as a batch with a higher cost weight and a half-price arm: cost (simulated)",
  run: (context) =>
    onStack(context, join(context.folder, "..", "stack"), async ({ folder }) => {
      const provider = await startBatchProvider();
      try {
        return await withSystem(context, { stackFolder: folder, provider }, (system) => measure(context, system));
      } finally {
        await provider.stop();
      }
    }),
};

async function measure(context: BenchContext, system: System): Promise<Measured> {
  const questions = questionsOf(context.requests ?? sizes[context.quick ? "quick" : "full"]);
  context.note("learning what the arms are worth");
  const rated = await warm(system);
  let runs = 0;
  const under = async (mode: "live" | "batch", costWeight: number): Promise<Outcome> => {
    context.note(`${questions.length} requests, ${mode}, cost weight ${costWeight}`);
    const former = new Set((await system.rows()).map(({ id }) => id));
    const calls = system.calls();
    // Each run has entries of its own in the response cache.
    const system_message = `This is run ${++runs}.`;
    const bodies = questions.map(({ text }) => ({
      ...{ model: "auto", temperature: 0 },
      messages: [
        { role: "system", content: system_message },
        { role: "user", content: text },
      ],
      ...(costWeight === weights[mode] ? {} : { precedent: { allow: { cost_weight: costWeight } } }),
    }));
    const began = performance.now();
    const answered = await system.ask[mode](bodies);
    const seconds = (performance.now() - began) / 1_000;
    const rows = await system.recorded(former, questions.length);
    return figuresOf({ questions, rows, answered, calls: system.calls() - calls, seconds });
  };
  const live = await under("live", weights.live);
  const live_higher_weight = await under("live", weights.batch);
  const batch_live_weight = await under("batch", weights.live);
  const cheapest = await under("batch", weights.batch);
  return {
    figures: {
      ...{ requests: questions.length, distinct: new Set(questions.map(({ text }) => text)).size },
      ...{ rated, cost_weights: weights, cost_ratio: Number((cheapest.cost / live.cost).toFixed(3)) },
      ...{ live, live_higher_weight, batch_live_weight, batch: cheapest },
      simulated: "quality, tokens (1,000 + 100), and the provider, a mock that answers at once",
    },
  };
}
