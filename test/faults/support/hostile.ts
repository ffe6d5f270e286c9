// Clients that send on purpose what others might choke on: batches in every codec with records that
// are none, bombs, headers without values, and at the gateway bytes that are no HTTP, URLs that do
// not decode, and connections that say nothing.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Random } from "../../../algorithms/numeric/random.ts";
import { createKafkaClient } from "../../../connections/kafka/client.ts";
import { batchBytes, plainBatch, plainRecord } from "../../../connections/kafka/protocol/batches.testing.ts";
import { createRawProducer } from "../../support/produce-raw.ts";
import type { Fault } from "./recovery.ts";
import type { Rig } from "./rig.ts";

/** Sends batches to a partition of `requests`, as encoded here. */
async function sendBatches(rig: Rig, partition: number, batches: readonly Buffer[]): Promise<void> {
  const { config, topic, log } = rig.session;
  const client = createKafkaClient({
    ...{ brokers: config.kafka.brokers ?? [], clientId: "hostile", config: config.kafka, log },
  });
  const raw = createRawProducer(client);
  try {
    for (const batch of batches) await raw.send(topic("requests"), partition, batch);
  } finally {
    await raw.close();
  }
}

const garbage = (random: Random): Buffer => Buffer.from(Array.from({ length: 50 }, () => Math.floor(random() * 256)));

/** Each codec of Kafka by its number: none, gzip, snappy, lz4, zstd. */
export const compressedGarbage = (random: Random): Fault => ({
  name: "garbage in every codec",
  async run(rig) {
    const values = [garbage(random), null, Buffer.alloc(0)];
    await sendBatches(
      rig,
      Math.floor(random() * rig.session.config.kafka.partitions),
      [0, 1, 2, 3, 4].map((codec) => batchBytes(plainBatch(0, values, codec))),
    );
    return undefined;
  },
});

export const oddHeaders = (random: Random): Fault => ({
  name: "headers without values, repeated and __proto__",
  async run(rig) {
    const names = ["traceparent", "__proto__", "again", "again"].map((name) => Buffer.from(name));
    const headers = names.map((name, i) => ({ name, value: i % 2 === 0 ? null : garbage(random) }));
    const records = [0, 1, 2].map((delta) => ({ ...plainRecord(delta, garbage(random)), headers }));
    await sendBatches(rig, 0, [batchBytes({ ...plainBatch(0, []), records })]);
    return undefined;
  },
});

/** 400 MB of zeros behind 400 kB; a broker that looks into batches may refuse it. */
export const gzipBomb: Fault = {
  name: "a bomb of gzip",
  async run(rig) {
    const payload = gzipSync(Buffer.alloc(400e6));
    return sendBatches(rig, 1, [batchBytes(plainBatch(0, [Buffer.alloc(1)], 1), payload)]).then(
      () => `${Math.round(payload.length / 1_000)} kB taken by the broker`,
      () => "refused by the broker",
    );
  },
};

const httpLines = ["GET /% HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET /%c0%af HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"];

/** At the gateway: every other connection sends bytes that are no HTTP. */
export const noHttp = (port: number, random: Random): Fault => ({
  name: "bytes that are no HTTP, and URLs that do not decode",
  async run() {
    const attack = async (i: number): Promise<void> => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.end(i % 2 === 0 ? (httpLines[(i / 2) % 2] ?? "") : garbage(random));
      socket.resume();
      await once(socket, "close");
    };
    for (let i = 0; i < 200; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => attack(i + k)));
    return "200 connections";
  },
});

/** Silent for a few seconds. */
export const silentConnections = (port: number): Fault => ({
  name: "silent connections at the gateway",
  async run() {
    const sockets: Socket[] = [];
    for (let i = 0; i < 1_000; i++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      sockets.push(socket);
      if (i % 100 === 99) await sleep(20);
    }
    await sleep(3_000);
    const open = sockets.filter((socket) => socket.readyState === "open").length;
    for (const socket of sockets) socket.destroy();
    return `${open} of 1000 left open`;
  },
});
