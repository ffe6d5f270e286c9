// What curate's steps find, admit and remember need: candidates where the tables have changed, the
// rules, and the examples that are known already, opened for the first candidate.
import type { Logger } from "pino";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { SessionOf } from "../../state/session.ts";
import { redactsCandidates } from "../redaction.ts";
import { createRowCounts, lookAnywayMs, type RowCounts } from "../row-counts.ts";
import { createAdmit, type ExampleStore, type Admission } from "./admit.ts";
import { createCandidates, curateReader, type Candidate, type Cursor, type CandidateBatch } from "./candidates.ts";
import { createDecide } from "./decide.ts";
import type { TextWork } from "../../connections/text/port.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";

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

/** Whether what decide.ts depends on answers at all, when a candidate fails. */
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

interface RememberDependencies {
  clickhouse: Pick<ClickHouse, "insert">;
  clock: () => number;
}

/** Writes decisions, then cursors: a pass that breaks off between is repeated. */
function createRemember({ clickhouse, clock }: RememberDependencies) {
  return async function remember(
    decided: readonly { candidate: Candidate; admission: Admission }[],
    cursors: readonly Cursor[],
  ): Promise<void> {
    const decidedAt = new Date(clock()).toISOString();
    if (decided.length > 0)
      await clickhouse.insert(
        "admissions",
        decided.map(({ candidate, admission }) => ({
          request_id: candidate.requestId,
          tenant: candidate.tenant,
          source: candidate.source,
          domain: candidate.domain,
          outcome: admission.outcome,
          reason: admission.reason ?? "",
          example_id: admission.exampleId ?? "",
          quality: admission.quality,
          reward_version: candidate.rewardVersion,
          decided_at: decidedAt,
        })),
      );
    if (cursors.length > 0)
      await clickhouse.insert(
        "cursors",
        cursors.map(({ source, partition, position }) => ({
          reader: curateReader,
          source,
          kafka_partition: partition,
          position,
        })),
      );
  };
}

/** Where candidates come from. */
const candidateTables = ["rewards", "feedback", "withdrawals", "requests", "responses", "observations"] as const;

interface WhenChangedDependencies {
  candidates: () => Promise<CandidateBatch>;
  counts: RowCounts<(typeof candidateTables)[number]>;
  clock: () => number;
}

/** Looks only where rows have come since a look that found nothing. */
export function candidatesWhenChanged({ candidates, counts, clock }: WhenChangedDependencies) {
  /** Row counts of the tables, before the look that found nothing. */
  let quiet: { counts: string; at: number } | undefined;
  return async function newCandidates(): Promise<CandidateBatch> {
    const now = { counts: JSON.stringify(await counts()), at: clock() };
    if (quiet?.counts === now.counts && now.at - quiet.at < lookAnywayMs)
      return { candidates: [], cursors: [], more: false };
    quiet = undefined;
    const batch = await candidates();
    if (batch.candidates.length === 0 && batch.cursors.length === 0 && !batch.more) quiet = now;
    return batch;
  };
}
