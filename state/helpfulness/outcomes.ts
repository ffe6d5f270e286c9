// Rewarded uses of each example, for helpfulness features: read repeatedly from ClickHouse into a
// bounded map. Stale while it is away, which is said once.
import type { Logger } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { readExampleOutcomes, type ExampleOutcome } from "./example-outcomes.ts";

const everyMs = 60_000;
/** The most used ones: what was used less has hardly an outcome to speak of. */
const largest = 100_000;

export interface ExampleOutcomes {
  /** undefined: never rewarded, or not among the most used. */
  of(id: string): ExampleOutcome | undefined;
  stop(): void;
}

export async function outcomesNow(clickhouse: Pick<ClickHouse, "query">): Promise<ExampleOutcomes> {
  const outcomes = await readExampleOutcomes(clickhouse, largest);
  return { of: (id) => outcomes.get(id), stop: () => undefined };
}

export function followOutcomes(clickhouse: Pick<ClickHouse, "query">, log: Logger): ExampleOutcomes {
  let outcomes = new Map<string, ExampleOutcome>();
  let isReading = false;
  let isStale = false;

  const read = async (): Promise<void> => {
    // One at a time, however slow it is.
    if (isReading) return;
    isReading = true;
    try {
      outcomes = await readExampleOutcomes(clickhouse, largest);
      if (isStale) log.info({ examples: outcomes.size }, "outcomes of examples are fresh again");
      isStale = false;
    } catch (error) {
      if (!isStale)
        log.warn({ err: error, examples: outcomes.size }, "outcomes of examples could not be read: they grow old");
      isStale = true;
    } finally {
      isReading = false;
    }
  };
  void read();
  const timer = setInterval(() => void read(), everyMs);
  timer.unref();

  return {
    of: (id) => outcomes.get(id),
    stop: () => {
      clearInterval(timer);
    },
  };
}
