// kafkajs' own ConsumerGroup on a scripted coordinator: the member id that it joins with after it
// was given up.
import { expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { internals, type ConsumerGroupLike, type RunnerLike } from "./kafkajs-internals.ts";
import "./kafkajs.ts";

const ConsumerGroup = internals.ConsumerGroup as unknown as new (options: object) => ConsumerGroupLike;
const { MemberAssignment } = internals.assignerProtocol;
const silent = { namespace: () => silent, debug() {}, info() {}, warn() {}, error() {} };

const protocolError = (type: string): Error => Object.assign(new Error(type), { type, retriable: true });

/**
 * A cluster with one coordinator that gives new members their names; `refuse` is thrown by the next
 * call of that name.
 */
function setUp() {
  const joined: string[] = [];
  const refuse = new Map<string, Error>();
  let members = 0;
  const call = (name: string): void => {
    const error = refuse.get(name);
    refuse.delete(name);
    if (error !== undefined) throw error;
  };
  const coordinator = {
    async joinGroup({ memberId }: { memberId: string }) {
      joined.push(memberId);
      call("joinGroup");
      return {
        generationId: joined.length,
        leaderId: "another",
        memberId: memberId || `member-${++members}`,
        members: [],
      };
    },
    async syncGroup() {
      call("syncGroup");
      return { memberAssignment: MemberAssignment.encode({ version: 0, assignment: {} }) };
    },
    async leaveGroup() {
      call("leaveGroup");
    },
    async heartbeat() {
      call("heartbeat");
    },
  };
  const cluster = {
    connect: async () => undefined,
    refreshMetadataIfNecessary: async () => undefined,
    findGroupCoordinator: async () => coordinator,
    findTopicPartitionMetadata: () => [],
    committedOffsets: () => ({}),
    getNodeIds: () => ["1"],
  };
  /** What kafkajs does at every start of a consumer. */
  const start = async (on: object = cluster): Promise<ConsumerGroupLike> => {
    const group = new ConsumerGroup({
      ...{ cluster: on, groupId: "group", topics: [], topicConfigurations: {}, logger: silent },
      ...{ assigners: [], instrumentationEmitter: { emit() {} }, retry: { retries: 0, initialRetryTime: 1 } },
    });
    await group.connect();
    await group.joinAndSync();
    return group;
  };
  return { cluster, joined, refuse, start };
}

test("a consumer that was given up comes back as the member it was", async () => {
  const { joined, refuse, start } = setUp();
  const group = await start();
  refuse.set("leaveGroup", new Error("the broker is away"));
  await expect(group.leave()).rejects.toThrow("away");
  await start();
  expect(joined).toEqual(["", "member-1"]);
});

test("also when the coordinator refused it in between, or it did not get as far as its assignment", async () => {
  const { joined, refuse, start } = setUp();
  refuse.set("syncGroup", protocolError("GROUP_LOAD_IN_PROGRESS"));
  await expect(start()).rejects.toThrow("GROUP_LOAD_IN_PROGRESS");
  refuse.set("joinGroup", protocolError("GROUP_LOAD_IN_PROGRESS"));
  await expect(start()).rejects.toThrow("GROUP_LOAD_IN_PROGRESS");
  await start();
  expect(joined).toEqual(["", "member-1", "member-1"]);
});

test("as a new member once it has left, or when the coordinator has forgotten it", async () => {
  const { joined, refuse, start } = setUp();
  await (await start()).leave();
  await start();
  refuse.set("joinGroup", protocolError("UNKNOWN_MEMBER_ID"));
  await expect(start()).rejects.toThrow("UNKNOWN_MEMBER_ID");
  await start();
  expect(joined).toEqual(["", "", "member-2", ""]);
});

test("consumers don't take each other's place", async () => {
  const { cluster, joined, start } = setUp();
  await start();
  await start({ ...cluster });
  expect(joined).toEqual(["", ""]);
});

test("one that is forgotten, and can't join at once, tries again until it has joined", async () => {
  const { joined, refuse, start } = setUp();
  const Runner = internals.Runner as unknown as new (options: object) => RunnerLike;
  const runner = new Runner({
    ...{ logger: silent, consumerGroup: await start(), instrumentationEmitter: { emit() {} } },
    ...{ eachBatch: () => undefined, heartbeatInterval: 0, retry: { retries: 5, initialRetryTime: 1 } },
    onCrash: (error: unknown) => joined.push(String(error)),
  });
  await runner.start();
  refuse.set("heartbeat", protocolError("UNKNOWN_MEMBER_ID"));
  refuse.set("joinGroup", protocolError("GROUP_LOAD_IN_PROGRESS"));
  while (joined.length < 4) await sleep(1);
  // Joined, joined again by the runner's start, refused, joined as a new member.
  expect(joined).toEqual(["", "member-1", "", ""]);
  await runner.stop();
});
