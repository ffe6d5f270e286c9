// bench -- archive/topic-compression: what compressing the topics would save and cost. Batches of
// real requests as our stages write them (Avro, one record batch a partition), with gzip, the codec
// that every Kafka client has, and without. Needs ../shared/data.
import { join } from "node:path";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import { v7 as uuidv7 } from "uuid";
import { encodeProduce } from "../../../connections/kafka/protocol/produce.ts";
import { createCodec } from "../../../connections/registry/codec.ts";
import { createMemoryRegistry } from "../../../connections/registry/memory.testing.ts";
import { plainRequest } from "../../../schemas/plain-request.ts";
import type { BenchContext, Benchmark, Measured } from "../../benchmark.ts";
import { readLines, shuffled } from "../../support/samples.ts";
import { median, significant } from "../../support/statistics.ts";

export const topicCompression: Benchmark = {
  name: "archive/topic-compression",
  about: "bytes and CPU of compressed topics",
  run,
};

/** Records in a batch: idle, 16 and 64 in flight over 8 partitions, a backlog. */
const batches = [1, 2, 8, 64];
const levels = { "gzip-1": constants.Z_BEST_SPEED, "gzip-6": 6 };
const rounds = 5;

async function run(context: BenchContext): Promise<Measured> {
  const folder = process.env["PRECEDENT_DATA"] ?? "../shared/data";
  const codec = createCodec({ prefix: "", registry: createMemoryRegistry() });
  await codec.register({ arms: [] });
  const encoded = (question: string, documents: string[] = []): { key: string; value: Buffer } => {
    const request = plainRequest(question, { id: uuidv7(), createdAt: Date.now(), documents });
    return { key: request.id, value: codec.encode("requests", request) };
  };
  const most = context.quick ? 256 : 1_024;
  const questions = await readLines<{ request: string }>(join(folder, "nl2bash-train.jsonl"));
  const answers = await readLines<{ request: string; response: string }>(join(folder, "nl2bash-dev.jsonl"));
  const kinds = {
    "a question": shuffled(questions, 1).map(({ request }) => encoded(request)),
    // As a request with documents: each with 20 different texts, none of them twice in a batch.
    "a question with documents": shuffled(questions, 2)
      .slice(0, most)
      .map(({ request }, i) =>
        encoded(
          request,
          Array.from({ length: 20 }, (_, k) => answers[(i * 20 + k) % answers.length]!).map(
            (a) => `${a.request}\n${a.response}`,
          ),
        ),
      ),
  };
  const rows = Object.entries(kinds).flatMap(([kind, all]) =>
    batches.flatMap((size) => {
      const bodies: Buffer[] = [];
      for (let i = 0; i + size <= Math.min(most, all.length); i += size) bodies.push(batchOf(all.slice(i, i + size)));
      return Object.entries(levels).map(([name, level]) => ({
        kind,
        records: size,
        codec: name,
        ...measure(bodies, size, level),
      }));
    }),
  );
  return { figures: { rows } };
}

const batchOf = (messages: readonly { key: string; value: Buffer }[]): Buffer =>
  encodeProduce({ acks: -1, timeout: 0, topicData: [{ topic: "", partitions: [{ partition: 0, messages }] }] }, 0);

function measure(bodies: readonly Buffer[], records: number, level: number) {
  const each = (work: () => void): number =>
    median(
      Array.from({ length: rounds }, () => {
        const before = process.cpuUsage();
        work();
        const { user, system } = process.cpuUsage(before);
        return (user + system) / (bodies.length * records);
      }),
    );
  const packed = bodies.map((body) => gzipSync(body, { level }));
  const sum = (all: readonly Buffer[]): number => all.reduce((total, { length }) => total + length, 0);
  return {
    bytes: Math.round(sum(bodies) / (bodies.length * records)),
    bytes_ratio: significant(sum(packed) / sum(bodies), 3),
    compress_us: significant(
      each(() => bodies.forEach((body) => gzipSync(body, { level }))),
      3,
    ),
    decompress_us: significant(
      each(() => packed.forEach((body) => gunzipSync(body))),
      3,
    ),
  };
}
