// Embeds the question. Needs validate before it. A full queue ("embedder_busy"), a late vector
// ("embedder_slow") or no embedder ("embedder") leaves it without one, and so without examples.
// What nothing would read is not made (needed.ts).
import { errorOf } from "../../connections/errors.ts";
import { EmbedderError, type Embedder } from "../../connections/embedder/port.ts";
import { ok, retryLater, type Step } from "../../runtime/step.ts";
import type { Embedded, Validated } from "../flow.ts";
import { createNeeded, type NeededDependencies } from "./needed.ts";

type Needs = Pick<Validated, "request" | "domain" | "question" | "degraded">;
type Adds = Pick<Embedded, "embedding">;

export interface EmbedDependencies extends NeededDependencies {
  embedder: Pick<Embedder, "embed">;
  clock?: () => number;
  /** Milliseconds for a vector, at most half of what is left. Default 30,000. */
  waitMs?: number;
}

export function createEmbed(dependencies: EmbedDependencies): Step<Needs, Adds> {
  const { embedder, clock = Date.now, waitMs = 30_000 } = dependencies;
  const isNeeded = createNeeded(dependencies);
  return async function embed(input, context) {
    if (!isNeeded(input)) return ok({ ...input, embedding: null });
    const wait = Math.min(waitMs, Math.max(0, (context.deadline - clock()) / 2));
    const timeout = new AbortController();
    const { cancellation = context.signal } = context;
    const stop = (): void => timeout.abort(cancellation.reason);
    const timer = setTimeout(() => timeout.abort(new TooSlow(`no vector within ${Math.round(wait)} ms`)), wait);
    cancellation.addEventListener("abort", stop, { once: true });
    if (cancellation.aborted) stop();
    try {
      return ok({ ...input, embedding: await embedder.embed(input.question, timeout.signal) });
    } catch (error) {
      // This attempt is abandoned: the caller that holds the record decides.
      if (cancellation.aborted) return retryLater(errorOf(error));
      if (!(error instanceof EmbedderError || error instanceof TooSlow)) throw error;
      context.log.warn({ err: error }, "no embedding: the request goes on without examples");
      return ok({ ...input, embedding: null, degraded: [...input.degraded, degradedBy(error)] });
    } finally {
      clearTimeout(timer);
      cancellation.removeEventListener("abort", stop);
    }
  };
}

function degradedBy(error: EmbedderError | TooSlow): string {
  if (error instanceof TooSlow) return "embedder_slow";
  return error.code === "embedder_busy" ? "embedder_busy" : "embedder";
}

class TooSlow extends Error {
  override name = "TooSlow";
}
