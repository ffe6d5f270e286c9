// Coordinators and partitions for unit tests: what is open, on record and permitted is what the
// test says.
import type { OpenTransaction, Outcome } from "./open-transactions.ts";
import type { TransactionDescription } from "./protocol/describe-transactions.ts";
import type { Transactions, Unseen } from "./transactions.ts";

export const openTransaction = (more: Partial<OpenTransaction> = {}): OpenTransaction => ({
  ...{
    topic: "out",
    partition: 0,
    producerId: "7",
    epoch: 5,
    openSince: 10,
    lastTimestamp: 1_000,
    coordinatorEpoch: 0,
  },
  ...more,
});
export const described = (state: string, more: Partial<TransactionDescription> = {}): TransactionDescription => ({
  ...{ errorCode: 0, transactionalId: "id", state, timeoutMs: 5_000, startedAt: 900 },
  ...{ producerId: "7", epoch: 5, partitions: [] },
  ...more,
});

export interface FakeTransactions extends Transactions {
  open: OpenTransaction[];
  unseen: Unseen[];
  recorded: Map<string, TransactionDescription>;
  /** Error on writing markers; undefined: they are written. */
  refusal: string | undefined;
  /** What was ended, and how: "marker out/0 commit", "own out/0 abort". */
  ended: string[];
  looks: number;
}

export function fakeTransactions(): FakeTransactions {
  const close = (partitions: readonly { topic: string; partition: number }[]): void => {
    fake.open = fake.open.filter((o) => !partitions.some((p) => p.topic === o.topic && p.partition === o.partition));
  };
  const look = () => {
    fake.looks++;
    return Promise.resolve({ open: [...fake.open], unseen: [...fake.unseen] });
  };
  const fake: FakeTransactions = {
    open: [],
    unseen: [],
    recorded: new Map(),
    refusal: undefined,
    ended: [],
    looks: 0,
    available: () => Promise.resolve(true),
    describe: (id) => Promise.resolve(fake.recorded.get(id)),
    look,
    lookAt: look,
    holders: () => Promise.resolve(new Map([...fake.recorded].map(([id, { producerId }]) => [producerId, id]))),
    end(transaction, outcome: Outcome) {
      if (fake.refusal === undefined) {
        fake.ended.push(`marker ${transaction.topic}/${transaction.partition} ${outcome}`);
        close([transaction]);
      }
      return Promise.resolve({ transaction, refused: fake.refusal });
    },
    endByOwn(_id, _reach, partitions, outcome) {
      for (const { topic, partition } of partitions) fake.ended.push(`own ${topic}/${partition} ${outcome}`);
      close(partitions);
      return Promise.resolve();
    },
  };
  return fake;
}
