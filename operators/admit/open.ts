// What curate's steps find, admit and remember need: candidates where the tables have changed, the
// rules, and the examples that are known already, opened for the first candidate.
import type { Logger } from "pino";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsCandidates } from "../redaction.ts";
import { createRowCounts } from "../row-counts.ts";
import { createAdmit, type ExampleStore } from "./admit.ts";
import { createCandidates } from "./candidates.ts";
import { createDecide } from "./decide.ts";
import { createRemember } from "./remember.ts";
import { candidatesWhenChanged, candidateTables } from "./when-changed.ts";
import type { TextWork } from "../../connections/text/port.ts";

const dayMs = 86_400_000;
const candidatesAtOnce = 200;
/** How long a reward may wait for its response to be recorded. */
const overlapMs = dayMs;

export interface AdmitOptions {
  /** Rejects while they can't be opened. */
  examples: () => Promise<ExampleStore>;
  sharing: SharedDomains;
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
}

export function openAdmit(
  session: SessionOf<{ sources: ["ClickHouse"]; outputs: ["ClickHouse"] }>,
  { examples, sharing, clock, signal, log }: AdmitOptions,
) {
  const { clickhouse, text, topic } = session;
  const { admit } = session.config.curate;
  return {
    candidates: candidatesWhenChanged({
      candidates: createCandidates({
        clickhouse,
        observations: topic("observations"),
        limit: candidatesAtOnce,
        overlapMs,
      }),
      counts: createRowCounts(clickhouse, candidateTables, { rewards: "version" }),
      clock,
    }),
    decide: createDecide({
      admit: createAdmit({
        examples,
        rules: { ...admit, ttlMs: admit.ttlDays === 0 ? null : admit.ttlDays * dayMs },
        redact: redactsCandidates(session),
        sharing,
        clock,
      }),
      works: createProbe({ examples, text, clock }),
      signal,
      log,
    }),
    remember: createRemember({ clickhouse, clock }),
  };
}

/**
 * Whether the embedder, the pool and the text worker answer at all: decide.ts tells by it a
 * candidate that fails from a dependency that is away.
 */
interface ProbeDependencies {
  examples: () => Promise<ExampleStore>;
  text: Pick<TextWork, "check">;
  clock: () => number;
}

function createProbe({ examples, text, clock }: ProbeDependencies): () => Promise<boolean> {
  // Makes each text a new one, so that no cache answers.
  let asked = 0;
  return async function works() {
    try {
      const { embedder, pool } = await examples();
      await text.check();
      const embedding = await embedder.embed(`Does deciding work? ${clock()} ${asked++}`);
      await pool.nearest("precedent/probe", embedding, 1, clock());
      return true;
    } catch {
      return false;
    }
  };
}
