// Embeds again in the background what another model embedded, in small batches behind requests.
// Until then it is not found: models are never compared.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff, type Waits } from "../../algorithms/queueing/backoff.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import { decodeExample } from "./records.ts";
import { vectorsOf } from "./vectors-of.ts";
import type { HeldExample } from "./port.ts";
import type { Touched } from "./store-state.ts";

export interface ReembedOptions {
  layout: Layout;
  ledger: Ledger;
  embedder: Pick<Embedder, "embedAll" | "model">;
  /** Runs a change of the ledger in the pool's turn, and lets the indexes follow. */
  inTurn: (change: () => Promise<{ touched: Touched }>) => Promise<void>;
  onDamaged: (key: number) => void;
  log: Logger;
  pause: Waits;
}

const atOnce = 32;

export function createReembed({ layout, ledger, embedder, inTurn, onDamaged, log, pause }: ReembedOptions) {
  const { pending, examples } = layout;
  const closing = new AbortController();
  let running: Promise<void> | null = null;
  /** Written, and not yet in the indexes. */
  let settling = 0;

  /** Those that were read and are whole. */
  function next(): { key: number; example: HeldExample }[] {
    return Array.from(pending.getKeys({ limit: atOnce })).flatMap((key) => {
      const bytes = examples.getBinary(key);
      const example = bytes && decodeExample(key, bytes);
      if (example) return [{ key, example }];
      onDamaged(key);
      return [];
    });
  }

  async function embed(batch: readonly { key: number; example: HeldExample }[]): Promise<void> {
    const vectors = await vectorsOf(
      embedder,
      batch.map(({ example }) => example.request),
    );
    await inTurn(() =>
      ledger.change(() => {
        batch.forEach(({ key, example }, i) => {
          const holding = ledger.holdingOf(example.id);
          // Meanwhile it may have gone, or come again with another text.
          if (!holding || holding.key !== key || ledger.getExample(example.id)?.request !== example.request) return;
          const vector = vectors[i];
          if (!pending.doesExist(key)) return;
          if (vector) return ledger.putVector(holding, vector, example.expiresAt);
          log.warn(
            { example: example.id, model: embedder.model },
            "its text can't be embedded: the example is left out",
          );
          ledger.erase(example.id);
        });
        settling = batch.length;
      }),
    ).finally(() => (settling = 0));
  }

  async function run(): Promise<void> {
    const total = ledger.counts().pending;
    log.info({ examples: total, model: embedder.model }, "embedding examples again");
    const waits = backoff(pause);
    let done = 0;
    for (let batch = next(); batch.length > 0 && !closing.signal.aborted; batch = next()) {
      try {
        await embed(batch);
        done += batch.length;
        waits.reset();
      } catch (error) {
        if (closing.signal.aborted) return;
        const wait = waits.next();
        log.warn({ err: error, retryInMs: wait }, "examples can't be embedded again yet");
        await sleep(wait, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
    log.info({ examples: done, model: embedder.model }, "examples embedded again");
  }

  return {
    /** Examples that can't be found yet. */
    waiting: (): number => ledger.counts().pending + settling,
    /** There may be something to do. */
    wake(): void {
      if (running !== null || closing.signal.aborted || ledger.counts().pending === 0) return;
      running = run()
        .catch((error: unknown) => log.error({ err: error }, "embedding examples again broke off"))
        .finally(() => (running = null));
    },
    async close(): Promise<void> {
      closing.abort();
      await running;
    },
  };
}
