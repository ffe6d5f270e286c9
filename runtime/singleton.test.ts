import { pino } from "pino";
import { describe, expect, it, vi } from "vitest";
import { TransactionAborted } from "../connections/kafka/errors.ts";
import type { GroupHandlers, GroupMember, Transaction } from "../connections/kafka/port.ts";
import { createSingleton, type Lease } from "./singleton.ts";

const lock = { topic: "locks", partition: 0 };
const log = pino({ level: "silent" });

/**
 * A singleton whose group is played by the test; each run of its task is one entry of leases and
 * ends when the lease does.
 */
function setUp(
  options: { transact?: (transaction: Transaction) => Promise<void>; failing?: number; hanging?: boolean } = {},
) {
  let handlers: GroupHandlers | undefined;
  const leases: Lease<"policies">[] = [];
  const transactions: Transaction[] = [];
  let active = 0;
  let failures = options.failing ?? 0;
  const singleton = createSingleton({
    group: "learn",
    topic: "locks",
    instance: "one",
    sessionTimeoutMs: 6_000,
    transactionalId: "policies",
    outputs: ["policies"],
    drainMs: options.hanging ? 20 : 10_000,
    log,
    kafka: {
      groupConsumer: () => ({
        run: (given) => Promise.resolve(void (handlers = given)),
        pause: () => undefined,
        resume: () => undefined,
        seek: () => undefined,
        committed: () => Promise.resolve([]),
        committedNow: () => Promise.resolve({ known: [], waiting: [] }),
        rivals: () => Promise.resolve([]),
        origins: () => Promise.resolve(new Map()),
        commit: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      }),
      transactionalProducer: () => ({
        initialise: () => Promise.resolve(),
        async transact(transaction) {
          await options.transact?.(transaction);
          transactions.push(transaction);
        },
        close: () => Promise.resolve(),
      }),
    },
    async task(lease) {
      if (failures-- > 0) throw new Error("not this time");
      expect(++active).toBe(1);
      leases.push(lease);
      if (options.hanging) await new Promise(() => undefined);
      await new Promise<void>((resolve) => lease.signal.addEventListener("abort", () => setTimeout(resolve, 20)));
      active--;
    },
  });
  const join = (member: GroupMember, mine: boolean): void => handlers?.onJoin(member, mine ? [lock] : []);
  return { singleton, leases, transactions, join };
}
const member = (generation: number, id = "m1"): GroupMember => ({ id, generation });

describe("a singleton", () => {
  it("runs its task only while it holds the lock", async () => {
    const { singleton, leases, join } = setUp();
    await singleton.start();
    join(member(1), false);
    expect(singleton.health()).toEqual({ joined: true, partitions: 0, inFlight: 0 });
    join(member(2), true);
    await vi.waitFor(() => expect(leases).toHaveLength(1));
    expect(singleton.health().partitions).toBe(1);
    join(member(3), false);
    expect(leases[0]?.signal.aborted).toBe(true);
    await singleton.stop();
    expect(leases).toHaveLength(1);
  });

  it("goes on when it keeps the lock, and publishes as the member that it is now", async () => {
    const { singleton, leases, transactions, join } = setUp();
    await singleton.start();
    join(member(1), true);
    await vi.waitFor(() => expect(leases).toHaveLength(1));
    join(member(2), true);
    await leases[0]?.publish([]);
    expect(transactions).toMatchObject([{ group: "learn", member: member(2), offsets: [{ topic: "locks" }] }]);
    await singleton.stop();
  });

  it("starts anew, never two at a time, when it missed a generation or came back as another member", async () => {
    const { singleton, leases, join } = setUp();
    await singleton.start();
    join(member(1), true);
    join(member(3), true);
    join(member(4, "m2"), true);
    await vi.waitFor(() => expect(leases.length).toBeGreaterThanOrEqual(1));
    await vi.waitFor(() => expect(leases.at(-1)?.signal.aborted).toBe(false));
    expect(leases.slice(0, -1).every(({ signal }) => signal.aborted)).toBe(true);
    await singleton.stop();
  });

  it("ends at once when the coordinator says that another holds the lock", async () => {
    const refusal = Object.assign(new Error("no"), { type: "ILLEGAL_GENERATION" });
    const { singleton, leases, join } = setUp({
      transact: () => Promise.reject(new TransactionAborted(refusal, true)),
    });
    await singleton.start();
    join(member(1), true);
    await vi.waitFor(() => expect(leases).toHaveLength(1));
    await expect(leases[0]?.publish([])).rejects.toBeInstanceOf(TransactionAborted);
    expect(leases[0]?.signal.aborted).toBe(true);
    await expect(leases[0]?.publish([])).rejects.toThrow("another process");
    await singleton.stop();
  });

  it("does not wait for ever for a task that hangs when it stops", async () => {
    const { singleton, leases, join } = setUp({ hanging: true });
    await singleton.start();
    join(member(1), true);
    await vi.waitFor(() => expect(leases).toHaveLength(1));
    await singleton.stop();
    await expect(leases[0]?.publish([])).rejects.toThrow("stopping");
  });

  it("tries a failed task again", async () => {
    const { singleton, leases, join } = setUp({ failing: 1 });
    await singleton.start();
    join(member(1), true);
    await vi.waitFor(() => expect(leases).toHaveLength(1), 3_000);
    await singleton.stop();
  });
});
