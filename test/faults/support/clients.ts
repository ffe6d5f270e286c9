// Clients that do what they should not: records that can't be read, prompts that are too large,
// vectors that are none, clocks that are wrong, one id three hundred times, one tenant with
// everything at once.
import { embeddingToBytes } from "../../../algorithms/selection/embedding.ts";
import { v7 as uuidv7 } from "uuid";
import { requestOf } from "../../support/system.ts";
import type { Fault } from "./recovery.ts";
import { question, recordedArms, type Rig } from "./rig.ts";

const allow = { arms: recordedArms, maxCost: null, deadlineMs: null, costWeight: null };
const minute = 60_000;

/** Keys of records that must come to stand in dead_letters. */
export interface Poisoned {
  readonly keys: string[];
}

const retried = async (
  rig: Rig,
  messages: Parameters<ReturnType<Rig["session"]["kafka"]["plainProducer"]>["send"]>[0],
): Promise<void> => {
  const producer = rig.session.kafka.plainProducer();
  try {
    await producer.send(messages);
  } finally {
    await producer.close();
  }
};

/** Truncated, empty, of an unknown schema, no Avro at all. */
export const poisonRecords = (poisoned: Poisoned): Fault => ({
  name: "records that can't be read",
  async run(rig) {
    const { codec, topic } = rig.session;
    const good = codec.encode("requests", requestOf(question));
    const unknown = Buffer.from(good);
    unknown.writeInt32BE(987_654, 1);
    const values = [good.subarray(0, good.length - 12), null, unknown, Buffer.from("no Avro")];
    const keys = values.map(() => `poison-${uuidv7()}`);
    await retried(
      rig,
      values.map((value, i) => ({ topic: topic("requests"), key: keys[i] ?? "", value })),
    );
    poisoned.keys.push(...keys);
    return undefined;
  },
});

/**
 * 10 MB are refused with an answer; 20 MB are refused by the broker, and the client gets an error.
 */
export const largePrompts: Fault = {
  name: "prompts of 10 and 20 MB",
  async run(rig) {
    await rig.oracle.send([requestOf("x".repeat(10_000_000), { id: `large-${uuidv7()}` })]);
    const { codec, topic } = rig.session;
    const value = codec.encode("requests", requestOf("x".repeat(20_000_000)));
    const reported = await retried(rig, [{ topic: topic("requests"), key: "too-large", value }]).then(
      () => false,
      () => true,
    );
    if (!reported) throw new Error("the broker took a record of 20 MB on requests");
    return undefined;
  },
};

/** Examples whose vectors have another dimension or hold no numbers. */
export const brokenVectors: Fault = {
  name: "examples with broken vectors",
  async run(rig) {
    const { codec, topic } = rig.session;
    const vectors = [Float32Array.of(1, 2, 3), new Float32Array(384).fill(Number.NaN), new Float32Array(0)];
    await retried(
      rig,
      vectors.map((vector) => {
        const id = uuidv7();
        const value = codec.encode("examples", {
          ...{ id, tenant: "default", domain: "default/default", request: question, response: "date" },
          ...{ embedding: embeddingToBytes(vector), embeddingModel: "all-MiniLM-L6-v2" },
          ...{ source: { arm: "small", model: "recorded", requestId: null }, quality: 0.5, bytes: 100 },
          ...{ expiresAt: null, replays: 0, shown: 0, createdAt: Date.now() },
        });
        return { topic: topic("examples"), key: `default/default/${id}`, value };
      }),
    );
    return undefined;
  },
};

/** Minutes and decades, both ways. */
export const wrongClocks: Fault = {
  name: "clients with wrong clocks",
  async run({ oracle }) {
    const decade = 10 * 365 * 24 * 60 * minute;
    await oracle.send(
      [-3 * minute, -2 * decade, 5 * minute, 7 * decade].map((offset) =>
        requestOf(question, { id: `clock-${uuidv7()}`, allow, createdAt: Date.now() + offset }),
      ),
    );
    return undefined;
  },
};

export const oneIdAgainAndAgain: Fault = {
  name: "one id 300 times",
  async run({ oracle }) {
    const request = requestOf(question, { id: `again-${uuidv7()}`, allow });
    await oracle.send(Array.from({ length: 300 }, () => request));
    return undefined;
  },
};

export const floodingTenant: Fault = {
  name: "a tenant floods",
  async run({ oracle }) {
    await oracle.send(
      Array.from({ length: 300 }, () =>
        requestOf(question, {
          ...{ id: `flood-${uuidv7()}`, tenant: "flood", allow },
          privacy: { cache: true, share: true, fresh: true },
        }),
      ),
    );
    return "300 requests at once";
  },
};
