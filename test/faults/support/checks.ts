// What must hold when the load has ended, whatever was done meanwhile: every request is answered
// once, for two readers that share no code, stands once in ClickHouse, and every group has
// committed everything, in steps that only went forward.
import { messageOf } from "../../../connections/errors.ts";
import { stackFolder } from "../../../stack/folder.ts";
import { brokerDefects } from "../../support/kafka-log.ts";
import { notOnce } from "../../support/oracle.ts";
import { readWithJava } from "./java-reader.ts";
import type { Rig } from "./rig.ts";

export interface Outcome {
  issued: number;
  /** Ids that lack an answer, a decision or a row. */
  lost: number;
  /**
   * Ids with more than one first answer, decision or work, or more answers than times that they
   * were asked.
   */
  doubled: number;
  /** Ids whose answer is a refusal: too large on purpose, or too late because nothing ran. */
  refused: number;
  /** Looks at the committed offsets. */
  looks: number;
  /** Everything that does not hold, in words. */
  violations: string[];
}

export interface CheckOptions {
  /** Without anything new for so long, it is not waited for any more. */
  stillMs?: number;
}

const sample = (ids: Iterable<string>): string => [...ids].slice(0, 5).join(", ");

/** Call it when the load has been stopped. */
export async function check(rig: Rig, { stillMs = 60_000 }: CheckOptions = {}): Promise<Outcome> {
  const { oracle, session } = rig;
  const violations: string[] = [];
  const says = (error: unknown): void => void violations.push(messageOf(error));
  await oracle.allAnswered(stillMs).catch(says);
  await oracle.drained(stillMs).catch(says);
  const { issued } = oracle;
  // A refusal may come before any decision: too large, or its deadline passed while nothing ran.
  const refused = new Set(
    (
      await session.clickhouse.query<{ id: string }>(
        "SELECT request_id AS id FROM responses FINAL WHERE status = 'refused'",
      )
    ).map(({ id }) => id),
  );
  const decidedOn = issued.filter((id) => !refused.has(id));
  const lost = new Set<string>();
  const doubled = new Set<string>();

  const topics = ["requests", "decisions", "responses"] as const;
  const work = session.config.arms.map(({ name }) => session.topic("work", name));
  const names = [...topics.map((topic) => session.topic(topic)), ...work];
  const java = await readWithJava(stackFolder(rig.folder).servers, session.connections.kafka.brokers, names);
  const ours = new Map<string, Map<string, number>>();
  for (const name of names) ours.set(name, await oracle.recordsOf(name));
  for (const [reader, found] of [
    ["kafkajs", ours],
    ["Java", java],
  ] as const) {
    const of = (name: string): Map<string, number> => found.get(name) ?? new Map<string, number>();
    const [asked, decided, answered] = [of(names[0]!), of(names[1]!), of(names[2]!)];
    const missing = [
      ...[asked, answered].flatMap((records) => notOnce(issued, records).lost),
      ...notOnce(decidedOn, decided).lost,
    ];
    // A repeat has an answer alone. Nothing may be decided on or worked on twice.
    const more = issued.filter((id) => (answered.get(id) ?? 0) > (asked.get(id) ?? 0));
    const fewer = issued.filter((id) => (answered.get(id) ?? 0) < (asked.get(id) ?? 0));
    const worked = new Map<string, number>();
    for (const name of work) for (const [id, count] of of(name)) worked.set(id, (worked.get(id) ?? 0) + count);
    const twice = [decided, worked].flatMap((records) => issued.filter((id) => (records.get(id) ?? 0) > 1));
    for (const id of [...missing, ...fewer]) lost.add(id);
    for (const id of [...more, ...twice]) doubled.add(id);
    if (missing.length > 0) violations.push(`${reader}: ${missing.length} lost: ${sample(missing)}`);
    if (fewer.length > 0)
      violations.push(`${reader}: ${fewer.length} ids asked more often than answered: ${sample(fewer)}`);
    if (more.length > 0)
      violations.push(`${reader}: ${more.length} ids answered more often than asked: ${sample(more)}`);
    if (twice.length > 0)
      violations.push(`${reader}: ${twice.length} ids decided or worked on twice: ${sample(twice)}`);
  }

  for (const [table, where] of [
    ["requests", "1"],
    ["decisions", "1"],
    ["responses", "NOT duplicate"],
  ] as const) {
    const rows = await session.clickhouse.query<{ id: string; rows: number | string }>(
      `SELECT request_id AS id, count() AS rows FROM ${table} FINAL WHERE ${where} GROUP BY id`,
    );
    const found = new Map(rows.map(({ id, rows: count }) => [id, Number(count)]));
    const missing = (table === "decisions" ? decidedOn : issued).filter((id) => !found.has(id));
    const twice = issued.filter((id) => (found.get(id) ?? 0) > 1);
    for (const id of missing) lost.add(id);
    for (const id of twice) doubled.add(id);
    if (missing.length > 0) violations.push(`ClickHouse: ${missing.length} ids lack in ${table}: ${sample(missing)}`);
    if (twice.length > 0) violations.push(`ClickHouse: ${twice.length} ids stand twice in ${table}: ${sample(twice)}`);
  }
  const { looks, backwards } = oracle.offsets();
  violations.push(...backwards.map((step) => `a committed offset went back: ${step}`));
  violations.push(...rig.workers.ended().map((end) => `a stage process ended by itself: ${end}`));
  violations.push(...(await defects(rig)));
  return { issued: issued.length, lost: lost.size, doubled: doubled.size, refused: refused.size, looks, violations };
}

/**
 * A broker that left a transaction open (KAFKA-20734) or forgot committed positions
 * (docs/stack.md).
 */
export const defects = async ({ folder }: Rig): Promise<string[]> =>
  (await brokerDefects(folder)).slice(0, 5).map((line) => `the broker's own fault: ${line}`);
