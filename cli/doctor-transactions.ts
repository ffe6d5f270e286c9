// Transactions that hang in our topics or our groups' offsets block readers and never end by
// themselves. Reports them; --repair ends them as recorded.
import type { Config } from "../config/schema.ts";
import type { EndedTransaction, HangingTransaction, Kafka } from "../connections/kafka/port.ts";
import type { Check } from "./doctor-check.ts";

type Finding = Omit<Check, "name">;

export async function checkTransactions(
  config: Config,
  kafka: Pick<Kafka, "topics" | "groups" | "hangingTransactions" | "endTransactions">,
  { topics, repair }: { topics: readonly string[]; repair: boolean },
): Promise<Finding> {
  const { prefix } = config.kafka;
  const existing = new Set(await kafka.topics());
  const hanging = await kafka.hangingTransactions({
    groups: (await kafka.groups()).filter((group) => group.startsWith(prefix)),
    topics: topics.filter((topic) => existing.has(topic)),
    idPrefix: prefix,
  });
  return describeHanging(repair ? await kafka.endTransactions(hanging) : hanging.map(untouched));
}

const untouched = (transaction: HangingTransaction): EndedTransaction => ({ transaction, refused: "" });

/** What was found, one a line; with its remedies where something still hangs. */
export function describeHanging(ended: readonly EndedTransaction[]): Finding {
  const hanging = ended.filter(({ refused }) => refused !== undefined);
  const repaired = ended.length - hanging.length;
  const done = repaired === 0 ? [] : [`${repaired} ended as their coordinators recorded them`];
  if (hanging.length === 0) return { state: "fine", detail: done[0] ?? "none hangs" };
  const lines = hanging.map(({ transaction, refused }) => {
    const { topic, partition, transactionalId, producerId, epoch, openSince, lastTimestamp, state } = transaction;
    const since = lastTimestamp < 0 ? "" : `, last written ${new Date(lastTimestamp).toISOString()}`;
    const why = refused === undefined || refused === "" ? "" : `; not ended: ${refused}`;
    return (
      `${topic}-${partition} from offset ${openSince}${since}: producer ${producerId}, epoch ${epoch}, of ` +
      `${transactionalId ?? "a transactional id that has expired"}; its coordinator says ${state ?? "nothing"}${why}`
    );
  });
  return {
    state: "missing",
    detail: [`${hanging.length} hang, and block read-committed consumers`, ...lines, ...done].join("\n"),
    remedy: [...new Set(hanging.map(({ transaction }) => transaction.remedy))].join("\n"),
  };
}
