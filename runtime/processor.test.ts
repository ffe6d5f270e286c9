import { setTimeout as sleep } from "node:timers/promises";
import { pino, type Logger } from "pino";
import { describe, expect, test, vi } from "vitest";
import { RegistryUnavailable, type Codec } from "../connections/registry/port.ts";
import type { TopicName } from "../schemas/records.ts";
import type { Document } from "../schemas/types.ts";
import { createMetricsRegistry, createStageMetrics } from "./metrics/stage.ts";
import { pipeline, type Emitting, type SourceContract } from "./pipeline.ts";
import { createProcessor } from "./processor.ts";
import { Abandoned } from "./retrying.ts";
import {
  deadLetter,
  elsewhere,
  finish,
  ok,
  refuse,
  retryLater,
  type Emit,
  type Outcome,
  type Received,
  type Step,
} from "./step.ts";
import type { RecordTrace, StageTracing } from "./tracing/port.ts";
import { rawRecord, silent } from "./doubles.testing.ts";

type In = Received<Document>;
type Reported = In & Emitting<"documents">;
const position = { topic: "in", partition: 3, offset: 7 };
const document = (text: string): Document => ({
  tenant: "t",
  id: "r1",
  text,
  title: null,
  expiresAt: null,
  createdAt: 1,
});
const emit = (text: string): Emit<"documents"> => ({ output: "documents", key: "r1", record: document(text) });
const never = (): AbortSignal => new AbortController().signal;

/** Records as JSON; `broken` bytes are undecodable. */
const plainCodec = (): Codec => ({
  encode: (_topic, record) =>
    Buffer.from(JSON.stringify(record, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value))),
  decode: (_topic, bytes) =>
    Promise.resolve(
      bytes.toString() === "broken"
        ? { ok: false, code: "undecodable", reason: "not Avro" }
        : { ok: true, value: JSON.parse(bytes.toString()) as never },
    ),
  register: () => Promise.resolve(),
});

interface SetUp {
  step: Step<In, Reported, "documents">;
  codec?: Codec;
  deadlineMs?: number;
  contract?: Partial<SourceContract<"documents", "documents">>;
  tracing?: Pick<StageTracing, "begin">;
  log?: Logger;
}

function setUp({ step, codec = plainCodec(), deadlineMs = 60_000, contract = {}, tracing, log = silent }: SetUp) {
  const now = (): number => Date.now();
  const started = now();
  const definition = pipeline()
    .declare({ name: "test", sources: ["documents"], tables: [], outputs: ["documents", "dead-letters"] }, () => ({
      deadline: () => started + deadlineMs,
      id: ({ record }) => record.id,
      answer: (_received, { status, code }) => [emit(`${status}: ${code}`)],
      ...contract,
    }))
    .step("only", () => step)
    .end();
  const registry = createMetricsRegistry();
  const topicOf = (output: TopicName): string => output;
  const metrics = createStageMetrics(registry, "test");
  return createProcessor({ pipeline: definition.bind({}), codec, topicOf, now, metrics, tracing, log });
}
/** Topic and the telling part of every output. */
async function outputs(its: SetUp, value = JSON.stringify(document("question")), signal = never()): Promise<string[]> {
  const messages = await setUp(its).process(rawRecord(7, value), position, signal);
  return messages.map(({ topic, value: bytes }) => {
    const record = JSON.parse(String(bytes)) as { text?: string; code?: string; reason?: string };
    return `${topic} ${record.text ?? record.code ?? ""}`;
  });
}
const echo: Step<In, Reported, "documents"> = (received) =>
  ok({ ...received, emits: [emit(`${received.record.text}!`)] });

describe("processor", () => {
  test("ends in what the operators emit", async () => {
    expect(await outputs({ step: echo })).toEqual(["documents question!"]);
    expect(await outputs({ step: () => finish(emit("known")) })).toEqual(["documents known"]);
  });

  test("a refusal is answered", async () => {
    expect(await outputs({ step: () => refuse("prompt_too_large", "1 byte too many") })).toEqual([
      "documents refused: prompt_too_large",
    ]);
  });

  test("a record whose step throws goes to dead-letters with its bytes, and is answered", async () => {
    const processor = setUp({ step: () => Promise.reject(new Error("poison")) });
    const [letter, response] = await processor.process(rawRecord(7, JSON.stringify(document("q"))), position, never());
    const record = JSON.parse(String(letter?.value)) as { offset: number; value: { data: number[] }; stage: string };
    expect([letter?.topic, record.offset, record.stage]).toEqual(["dead-letters", 7, "test"]);
    expect(Buffer.from(record.value.data).toString()).toBe(JSON.stringify(document("q")));
    expect(String(response?.value)).toContain("failed: internal_error");
  });

  test("what a step sends there goes to dead-letters whole, with the step's code, and is not answered", async () => {
    const contract = { tenantOf: ({ topic }: { topic: string }) => `of ${topic}` };
    const processor = setUp({ step: () => deadLetter("not_ours", "it is another's"), contract });
    const messages = await processor.process(rawRecord(7, JSON.stringify(document("q"))), position, never());
    expect(messages.map(({ topic }) => topic)).toEqual(["dead-letters"]);
    const letter = JSON.parse(String(messages[0]?.value)) as { value: { data: number[] } };
    expect(letter).toMatchObject({ code: "not_ours", reason: "it is another's", tenant: "of in", offset: 7 });
    expect(Buffer.from(letter.value.data).toString()).toBe(JSON.stringify(document("q")));
    const [broken] = await processor.process(rawRecord(7, "broken"), position, never());
    expect(JSON.parse(String(broken?.value))).toMatchObject({ code: "undecodable", tenant: "of in" });
  });

  test.each<[string, Step<In, Reported, "documents">, string[]]>([
    ["an answer", echo, ["question!"]],
    ["a copy", () => finish(emit("known")), ["known"]],
    ["a refusal", () => refuse("late", "too late"), ["refused: late"]],
    ["a dead letter", () => deadLetter("not_ours", "another's"), ["not_ours"]],
    ["a bug", () => Promise.reject(new Error("a bug")), ["internal_error", "failed: internal_error"]],
  ])("changes of the stage's state go with whatever becomes of the record: %s", async (_name, step, others) => {
    const contract = { always: ({ record }: In) => [emit(`seen ${record.text}`)] };
    const found = await outputs({ step, contract });
    expect(found.map((line) => line.slice(line.indexOf(" ") + 1))).toEqual([...others, "seen question"]);
    expect(await outputs({ step, contract }, "broken")).toEqual(["dead-letters undecodable"]);
    const processor = setUp({ step, contract });
    const replaced = await processor.rejected(
      rawRecord(7, JSON.stringify(document("q"))),
      position,
      "too large",
      false,
    );
    expect(String(replaced.at(-1)?.value)).toContain("seen q");
  });

  test("a record that is undecodable or has no value goes to dead-letters, without an answer", async () => {
    expect(await outputs({ step: echo }, "broken")).toEqual(["dead-letters undecodable"]);
    const tombstone = await setUp({ step: echo }).process(rawRecord(7, null), position, never());
    expect(tombstone.map(({ topic }) => topic)).toEqual(["dead-letters"]);
  });

  test("one whose client can be read all the same is answered, too, and so is its dead letter's stand-in", async () => {
    const envelope = { ...document("q"), tenant: "acme" } as never;
    const failed = { ok: false, code: "undecodable", reason: "seed is beyond 2^52", envelope } as const;
    const codec = { ...plainCodec(), decode: () => Promise.resolve(failed) };
    const contract: SetUp["contract"] = {
      answer: ({ record }, { status, code, message }) => [emit(`${record.tenant} ${status} ${code} ${message}`)],
    };
    const processor = setUp({ step: echo, codec, contract });
    for (const [letter, response, ...others] of [
      await processor.process(rawRecord(7, "x"), position, never()),
      await processor.rejected(rawRecord(7, "x"), position, "too large", false),
    ]) {
      expect(letter?.topic).toBe("dead-letters");
      expect(String(response?.value)).toContain("acme refused undecodable Precedent can't read the request: seed is");
      expect(others).toEqual([]);
    }
    const [letter] = await processor.process(rawRecord(7, "x"), position, never());
    expect(JSON.parse(String(letter?.value))).toMatchObject({ tenant: "acme", reason: "seed is beyond 2^52" });
  });

  test.each<[string, Step<In, Reported, "documents">]>([
    [
      "throws",
      () => {
        throw new Error("a bug");
      },
    ],
    ["rejects", () => Promise.reject(new Error("a bug"))],
  ])("an operator that %s costs its record alone: a dead letter and a failed response", async (_how, step) => {
    expect(await outputs({ step })).toEqual(["dead-letters internal_error", "documents failed: internal_error"]);
  });

  test("a failing dependency is asked again until it works", async () => {
    let calls = 0;
    const step: Step<In, Reported, "documents"> = (received, context) =>
      ++calls < 3 ? retryLater(new Error("away")) : echo(received, context);
    expect(await outputs({ step })).toEqual(["documents question!"]);
    expect(calls).toBe(3);
  });

  test("a record that waits for another one gives its slot back, and takes it again only to go on", async () => {
    const reported: string[] = [];
    const slot = {
      leave: () => (reported.push("leave"), true),
      take: () => (reported.push("take"), Promise.resolve()),
    };
    let calls = 0;
    const wait = retryLater(new Error("not answered yet"), refuse("too_many_repeats", "wait"));
    const after =
      (last: Outcome<Reported, "documents">): Step<In, Reported, "documents"> =>
      <T extends In>() =>
        ++calls < 3 ? wait : (last as Outcome<T & Reported, "documents">);
    const end = async (last: Outcome<Reported, "documents">): Promise<string[]> => {
      calls = reported.length = 0;
      const bytes = JSON.stringify(document("q"));
      const outputs = await setUp({ step: after(last) }).process(rawRecord(7, bytes), position, never(), slot);
      return [...reported, ...outputs.map(({ value }) => (JSON.parse(String(value)) as Document).text)];
    };
    expect(await end(finish(emit("copy")))).toEqual(["leave", "copy"]);
    const going = { record: document("q"), position, timestamp: 1, receivedAt: 1, emits: [emit("new")] };
    expect(await end(ok(going))).toEqual(["leave", "take", "new"]);
  });

  test("where no more may wait so, it is refused, as the step says", async () => {
    const waits: Step<In, Reported, "documents"> = () =>
      retryLater(new Error("not yet"), refuse("too_many_repeats", "wait"));
    const full = { leave: () => false, take: () => Promise.resolve() };
    const [answer] = await setUp({ step: waits }).process(
      rawRecord(7, JSON.stringify(document("q"))),
      position,
      never(),
      full,
    );
    expect(String(answer?.value)).toContain("refused: too_many_repeats");
  });

  test("what is done elsewhere begins when the slot is left, is begun again when it was cut off, and has another end where no more may wait", async () => {
    const reported: string[] = [];
    let calls = 0;
    const step: Step<In, unknown, "documents"> = () => {
      reported.push("step");
      return elsewhere({
        ...{ pool: "slow", bytes: 5 },
        go: () => {
          reported.push("go");
          return Promise.resolve(++calls < 2 ? retryLater(new Error("cut off")) : finish(emit("answer")));
        },
        full: () => finish(emit("too many")),
      });
    };
    const end = async (room: boolean): Promise<string[]> => {
      const slot = {
        leave: (waiting?: object) => (reported.push(`leave ${JSON.stringify(waiting)}`), room),
        take: () => (reported.push("take"), Promise.resolve()),
      };
      const last: Step<In, Reported, "documents"> = (received, context) =>
        step(received, context) as ReturnType<typeof last<typeof received>>;
      const bytes = JSON.stringify(document("q"));
      const outputs = await setUp({ step: last }).process(rawRecord(7, bytes), position, never(), slot);
      return [...reported.splice(0), ...outputs.map(({ value }) => (JSON.parse(String(value)) as Document).text)];
    };
    const left = 'leave {"pool":"slow","bytes":5}';
    expect(await end(true)).toEqual(["step", left, "go", "step", "go", "answer"]);
    expect(await end(false)).toEqual(["step", left, "too many"]);
  });

  test("what goes on elsewhere a second time moves there, or ends where no more may wait", async () => {
    const pools: string[] = [];
    const step: Step<In, unknown, "documents"> = () =>
      elsewhere({
        ...{ pool: "slow", bytes: 5, full: () => finish(emit("too many")) },
        go: () =>
          Promise.resolve(
            elsewhere({
              ...{ pool: "other", bytes: 6, full: () => finish(emit("too many of the other")) },
              go: () => Promise.resolve(finish(emit("answer of the other"))),
            }),
          ),
      });
    const last: Step<In, Reported, "documents"> = (received, context) =>
      step(received, context) as ReturnType<typeof last<typeof received>>;
    const end = async (rooms: string[]): Promise<string[]> => {
      const slot = {
        leave: (waiting?: { pool: string }) => (pools.push(waiting?.pool ?? ""), rooms.includes(waiting?.pool ?? "")),
        take: () => Promise.resolve(),
      };
      const bytes = JSON.stringify(document("q"));
      const outputs = await setUp({ step: last }).process(rawRecord(7, bytes), position, never(), slot);
      return [...pools.splice(0), ...outputs.map(({ value }) => (JSON.parse(String(value)) as Document).text)];
    };
    expect(await end(["slow", "other"])).toEqual(["slow", "other", "answer of the other"]);
    expect(await end(["slow"])).toEqual(["slow", "other", "too many of the other"]);
  });

  test("when it fails until the deadline the request is refused", async () => {
    const step: Step<In, Reported, "documents"> = () => retryLater(new Error("ClickHouse is away"));
    expect(await outputs({ step, deadlineMs: 120 })).toEqual(["documents refused: deadline_exceeded"]);
  });

  test("an operator that heeds its signal by throwing is late, not broken", async () => {
    const step: Step<In, Reported, "documents"> = async (received, { signal }) => {
      await sleep(60_000, undefined, { signal });
      return ok({ ...received, emits: [] });
    };
    expect(await outputs({ step, deadlineMs: 50 })).toEqual(["documents refused: deadline_exceeded"]);
  });

  test("records that arrive after their deadline are logged, once per interval", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const { process } = setUp({ step: echo, deadlineMs: -60_000, log });
    vi.advanceTimersByTime(1_000);
    for (let i = 0; i < 3; i++) await process(rawRecord(7, JSON.stringify(document("late"))), position, never());
    vi.useRealTimers();
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ lateMs: expect.closeTo(60_000, -4) as number }),
    ]);
  });

  test("an operator that ignores its signal is left behind after the deadline", async () => {
    const step: Step<In, Reported, "documents"> = () => new Promise(() => undefined);
    expect(await outputs({ step, deadlineMs: 10 })).toEqual(["documents refused: deadline_exceeded"]);
  });

  test("when the partition is lost nothing comes of it, whatever the operator says", async () => {
    const controller = new AbortController();
    const step: Step<In, Reported, "documents"> = (received, context) => {
      controller.abort();
      return echo(received, context);
    };
    await expect(outputs({ step }, undefined, controller.signal)).rejects.toBeInstanceOf(Abandoned);
    const ignoring = new AbortController();
    const stuck = outputs({ step: () => new Promise(() => undefined) }, undefined, ignoring.signal);
    await sleep(5);
    ignoring.abort();
    await expect(stuck).rejects.toBeInstanceOf(Abandoned);
  });

  test("the registry is waited for; a lost partition ends that, too", async () => {
    const codec = plainCodec();
    const decode = vi.spyOn(codec, "decode");
    decode.mockRejectedValueOnce(new RegistryUnavailable("down"));
    expect(await outputs({ step: echo, codec })).toEqual(["documents question!"]);
    decode.mockRejectedValue(new RegistryUnavailable("down"));
    const controller = new AbortController();
    const waiting = outputs({ step: echo, codec }, undefined, controller.signal);
    await sleep(5);
    controller.abort();
    await expect(waiting).rejects.toBeInstanceOf(Abandoned);
  });

  test.each<[string, Partial<SetUp>]>([
    [
      "a contract that throws",
      {
        contract: {
          deadline: () => {
            throw new Error("no date");
          },
        },
      },
    ],
    [
      "an answer that can't be made",
      {
        step: () => refuse("no", "no"),
        contract: {
          answer: () => {
            throw new Error("no id");
          },
        },
      },
    ],
    ["a codec that breaks", { codec: { ...plainCodec(), decode: () => Promise.reject(new TypeError("a bug")) } }],
  ])("%s ends in a dead letter, never in an unfinished record", async (_what, more) => {
    expect(await outputs({ step: echo, ...more })).toEqual(["dead-letters internal_error"]);
  });

  test("a batch that can't be read is a dead letter with its offsets, whatever its bytes are", async () => {
    const { process, rejected } = setUp({ step: echo });
    const unreadable = { first: 3, code: "broken_checksum", reason: "it is broken" };
    const batch = { ...rawRecord(7, JSON.stringify(document("q"))), unreadable };
    const [letter, ...others] = await process(batch, position, never());
    expect(JSON.parse(String(letter?.value))).toMatchObject({ code: "broken_checksum", firstOffset: 3, offset: 7 });
    expect(others).toEqual([]);
    expect(await rejected(batch, position, new Error("too large"), true)).toHaveLength(1);
  });

  test("outputs that the broker refuses become a dead letter and an answer; the second time without the record's bytes", async () => {
    const { rejected } = setUp({ step: echo });
    const record = rawRecord(7, JSON.stringify(document("q")));
    const letters = await Promise.all(
      [false, true].map((again) => rejected(record, position, new Error("too large"), again)),
    );
    const read = letters.map(
      ([letter]) =>
        JSON.parse(String(letter?.value)) as { code: string; value: unknown; reason: string; offset: number },
    );
    expect(letters.map((messages) => messages.length)).toEqual([2, 2]);
    expect(read.map(({ code, offset, value }) => [code, offset, value === null])).toEqual([
      ["output_too_large", 7, false],
      ["output_too_large", 7, true],
    ]);
    expect(read[1]?.reason).toContain("too large");
  });
});

describe("a record that is traced", () => {
  function traced() {
    const reported: string[] = [];
    const trace: RecordTrace = {
      headers: { traceparent: "of the record" },
      during(work) {
        reported.push("during");
        return work();
      },
      worked: (emits, timings) =>
        void reported.push(
          `worked ${emits.map(({ output }) => output).join()} ${timings.map((t) => t.operator).join()}`,
        ),
      deadLettered: (code) => void reported.push(`dead letter ${code}`),
      abandoned: () => void reported.push("abandoned"),
    };
    return { reported, tracing: { begin: () => trace } };
  }
  const run = (its: SetUp, value = JSON.stringify(document("question")), signal = never()) =>
    setUp(its).process(rawRecord(7, value), position, signal);

  test("hands its headers on with its outputs, and says what it ended in; an untraced one has none", async () => {
    const { reported, tracing } = traced();
    const [message] = await run({ step: echo, tracing });
    expect(message?.headers).toEqual({ traceparent: "of the record" });
    expect(reported).toEqual(["during", "worked documents only"]);
    const [plain] = await run({ step: echo });
    expect(plain).not.toHaveProperty("headers");
  });

  test("says that it was undecodable, refused, broken or lost, once each", async () => {
    const of = async (its: SetUp, value?: string, signal?: AbortSignal): Promise<string[]> => {
      const { reported, tracing } = traced();
      await run({ ...its, tracing }, value, signal).catch(() => undefined);
      return reported.slice(1);
    };
    expect(await of({ step: echo }, "broken")).toEqual(["dead letter undecodable"]);
    expect(await of({ step: () => refuse("no", "no") })).toEqual(["worked documents only"]);
    const bug: SetUp["step"] = () => {
      throw new Error("a bug");
    };
    expect(await of({ step: bug })).toEqual(["worked documents "]);
    const unanswerable = { answer: () => expect.unreachable() };
    expect(await of({ step: bug, contract: unanswerable })).toEqual(["dead letter internal_error"]);
    expect(await of({ step: echo }, undefined, AbortSignal.abort())).toEqual(["abandoned"]);
  });
});
