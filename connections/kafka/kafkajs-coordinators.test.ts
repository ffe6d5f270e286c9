import { describe, expect, test, vi } from "vitest";
import { explainingCoordinators, rememberedMs, rememberingCoordinators } from "./kafkajs-coordinators.ts";
import { remedyOf } from "../security/errors.ts";
import { internals } from "./kafkajs-internals.ts";

const transaction = { groupId: "transactional-id", coordinatorType: 1 };
const group = { groupId: "group", coordinatorType: 0 };

function setUp() {
  let time = 0;
  const ask = vi.fn((question: { groupId: string }) => Promise.resolve(`coordinator of ${question.groupId}`));
  const find = rememberingCoordinators(ask, () => time);
  const cluster = { brokerPool: { brokers: {} }, findGroupCoordinatorMetadata: find };
  return { ask, cluster, pass: (ms: number) => (time += ms) };
}

describe("coordinators", () => {
  test("a producer asks once a moment for each of its coordinators", async () => {
    const { ask, cluster, pass } = setUp();
    for (let i = 0; i < 5; i++) {
      expect(await cluster.findGroupCoordinatorMetadata(transaction)).toBe("coordinator of transactional-id");
      expect(await cluster.findGroupCoordinatorMetadata(group)).toBe("coordinator of group");
    }
    expect(ask).toHaveBeenCalledTimes(2);
    pass(rememberedMs);
    await cluster.findGroupCoordinatorMetadata(transaction);
    expect(ask).toHaveBeenCalledTimes(3);
  });

  test("a consumer always asks: it looks for a coordinator only when the one it had is gone", async () => {
    const { ask, cluster } = setUp();
    await cluster.findGroupCoordinatorMetadata(group);
    await cluster.findGroupCoordinatorMetadata(group);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test("a failure is not remembered", async () => {
    const { ask, cluster } = setUp();
    ask.mockRejectedValueOnce(new Error("away"));
    await expect(cluster.findGroupCoordinatorMetadata(transaction)).rejects.toThrow("away");
    expect(await cluster.findGroupCoordinatorMetadata(transaction)).toBe("coordinator of transactional-id");
  });

  test("producers don't share what they remember", async () => {
    const { ask, cluster } = setUp();
    const other = { ...cluster };
    await cluster.findGroupCoordinatorMetadata(transaction);
    await other.findGroupCoordinatorMetadata(transaction);
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test("a failure says what a broker says of it, where one is connected", async () => {
    const failed = () => new Error("Failed to find group coordinator");
    const refuses = vi.fn(() =>
      Promise.reject(Object.assign(new Error("no ACL"), { type: "GROUP_AUTHORIZATION_FAILED" })),
    );
    const find = explainingCoordinators(() => Promise.reject(failed()));
    const brokers = (isConnected: boolean) => ({
      1: { isConnected: () => isConnected, findGroupCoordinator: refuses },
    });
    const ask = (isConnected: boolean) =>
      find.call({ brokerPool: { brokers: brokers(isConnected) }, findGroupCoordinatorMetadata: find }, group);
    await expect(ask(false)).rejects.toThrow(/coordinator$/);
    expect(refuses).not.toHaveBeenCalled();
    const refused: unknown = await ask(true).catch((error: unknown) => error);
    expect(refused).toMatchObject({ message: "Failed to find group coordinator: no ACL" });
    expect(remedyOf(refused)).toMatch(/ACL/);
  });

  test("kafkajs still has the method that is wrapped", () => {
    expect(internals.Cluster.prototype.findGroupCoordinatorMetadata).toBeTypeOf("function");
  });
});
