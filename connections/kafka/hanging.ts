// Finds transactions that hang in any of our partitions, of any producer, and ends those with a
// recorded outcome. A transaction that its coordinator will end by itself is no finding: its
// producer is at work, its timeout has not passed, or a leader is away.
import { abortCommand, isClaimed, recordedOutcome, type OpenTransaction } from "./open-transactions.ts";
import type { EndedTransaction, HangingSearch, HangingTransaction } from "./port.ts";
import type { TransactionDescription } from "./protocol/describe-transactions.ts";
import { internalTopics } from "./wire.ts";
import type { Transactions } from "./transactions.ts";

/** A broker's longest transaction by default; an unknown holder may be an id we can't see. */
const longestMs = 900_000;

export async function findHanging(
  transactions: Transactions,
  search: HangingSearch,
  now = Date.now(),
): Promise<HangingTransaction[]> {
  if (!(await transactions.available())) return [];
  const { open } = await transactions.look(search);
  if (open.length === 0) return [];
  const holders = await transactions.holders([...new Set(open.map(({ producerId }) => producerId))]);
  const recorded = new Map<string, TransactionDescription>();
  for (const id of new Set(holders.values())) {
    const found = await transactions.describe(id);
    if (found !== undefined) recorded.set(id, found);
  }
  const suspects = open.flatMap((transaction): HangingTransaction[] => {
    const transactionalId = holders.get(transaction.producerId);
    const foreign = transactionalId !== undefined && !transactionalId.startsWith(search.idPrefix);
    if (foreign && transaction.topic === internalTopics.offsets) return [];
    const known = transactionalId === undefined ? undefined : recorded.get(transactionalId);
    if (known === undefined ? now - transaction.lastTimestamp < longestMs : isClaimed(transaction, known)) return [];
    return [
      {
        ...transaction,
        transactionalId,
        state: known?.state,
        ...endOf(transaction, known),
      },
    ];
  });
  return suspects.length === 0 ? [] : stillOpen(transactions, suspects);
}

/** Kafka's own tool only aborts, maybe what was committed: only for what has no record. */
function endOf(
  transaction: OpenTransaction,
  known: TransactionDescription | undefined,
): Pick<HangingTransaction, "outcome" | "remedy"> {
  const outcome = known && recordedOutcome(transaction, known);
  const repair = "precedent doctor --repair, as a principal that may do ClusterAction on the cluster";
  return {
    outcome,
    remedy: outcome === undefined ? `${abortCommand(transaction)} (what it wrote is lost)` : repair,
  };
}

/** Open before and after a query of a coordinator without a record of it: never ended. */
async function stillOpen(
  transactions: Transactions,
  suspects: readonly HangingTransaction[],
): Promise<HangingTransaction[]> {
  const { open } = await transactions.lookAt(suspects);
  const keyOf = ({ topic, partition, producerId, epoch, openSince }: OpenTransaction | HangingTransaction): string =>
    [topic, partition, producerId, epoch, openSince].join("/");
  const keys = new Set(open.map(keyOf));
  return suspects.filter((suspect) => keys.has(keyOf(suspect)));
}

export async function endHanging(
  transactions: Transactions,
  hanging: readonly HangingTransaction[],
): Promise<EndedTransaction[]> {
  const results: EndedTransaction[] = [];
  for (const transaction of await stillOpen(transactions, hanging)) {
    const { transactionalId, outcome } = transaction;
    // Its producer may have begun another one meanwhile, which a marker would end as well.
    const known = transactionalId === undefined ? undefined : await transactions.describe(transactionalId);
    if (outcome === undefined || known === undefined)
      results.push({ transaction, refused: "its outcome is not on record any more" });
    else if (recordedOutcome(transaction, known) !== outcome)
      results.push({ transaction, refused: "its producer has gone on: look again" });
    else results.push({ transaction, refused: (await transactions.end(transaction, outcome)).refused });
  }
  return results;
}
