import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, test } from "vitest";
import { testTracing } from "../../connections/tracing/tracing.testing.ts";
import { rawRecord } from "../doubles.testing.ts";
import type { Emit } from "../step.ts";
import { createStageTracing } from "./stage.ts";

const at = (offset: number, partition = 1) => ({ topic: "work", partition, offset });
const answered: Emit[] = [
  {
    ...{ output: "responses", key: "r" },
    record: {
      ...{
        requestId: "r",
        tenant: "t",
        attempt: 1,
        status: "ok",
        text: "a secret",
        finishReason: "stop",
        stopSequence: null,
      },
      ...{
        arm: "small",
        model: "m",
        failedArms: [],
        source: "generated",
        exampleIds: ["e"],
        domain: "default/default",
        exampleTokens: 0,
        duplicate: false,
      },
      usage: {
        ...{ prompt: 1, linked: 0, recomputed: 0, prefilled: 1, completion: 1, estimated: false },
        ...{ cached: 0, cacheWrite: 0, reasoning: 0 },
      },
      ...{ cost: 0, failedCost: 0, billed: 0, savedCost: 0, account: null, createdAt: 0 },
      ...{ timings: { plan: 0, queue: 0, firstToken: null, total: 0 }, error: null, passthrough: null },
      ...{ linkPolicy: null, degraded: [], asked: false, alternative: null },
    },
  },
];

function setUp() {
  const tracing = testTracing();
  let now = 1_000_000;
  const stage = createStageTracing(tracing, { stage: "generate.small", group: "g", clock: () => now });
  const work = (offset: number): void => stage.begin(rawRecord(offset, "x"), at(offset)).worked(answered, []);
  const outcomes = async (): Promise<unknown[]> => (await tracing.ended()).map(outcomeOf);
  return { tracing, stage, work, outcomes, pass: (ms: number) => void (now += ms) };
}
const outcomeOf = ({ attributes }: ReadableSpan): unknown =>
  `${String(attributes["messaging.kafka.offset"])} ${String(attributes["precedent.outcome"])}`;

describe("the span of a record", () => {
  test("ends when its outputs are committed, with its operators inside and no text", async () => {
    const { tracing, stage } = setUp();
    const trace = stage.begin(rawRecord(5, "x"), at(5));
    trace.worked(answered, [
      { operator: "link", ms: 1 },
      { operator: "call", ms: 20 },
    ]);
    stage.committed(at(5));
    stage.committed(at(5));
    const spans = await tracing.ended();
    expect(spans.map(({ name }) => name)).toEqual(["link", "call", "process work"]);
    expect(spans[2]?.attributes).toMatchObject({
      "precedent.outcome": "ok",
      "precedent.arm": "small",
      "precedent.examples": 1,
      "precedent.stage": "generate.small",
    });
    expect(spans[0]?.parentSpanContext?.spanId).toBe(spans[2]?.spanContext().spanId);
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("secret");
  });

  test("that was worked and never committed is no done one", async () => {
    const { work, outcomes } = setUp();
    work(1);
    expect(await outcomes()).toEqual([]);
  });

  test("is abandoned when the record is worked again here: one is done", async () => {
    const { stage, work, outcomes } = setUp();
    work(1);
    stage.dropped(at(1));
    work(1);
    stage.committed(at(1));
    expect(await outcomes()).toEqual(["1 abandoned", "1 ok"]);
  });

  test("is done where its partition came back with its results", async () => {
    const { stage, work, outcomes } = setUp();
    work(1);
    stage.dropped(at(1));
    stage.committed(at(1));
    expect(await outcomes()).toEqual(["1 ok"]);
  });

  test("is abandoned a while after its partition was lost; others stay", async () => {
    const { stage, work, outcomes, pass } = setUp();
    work(1);
    stage.dropped(at(0, 1));
    work(2);
    pass(61_000);
    work(3);
    stage.committed(at(2));
    stage.committed(at(3));
    stage.committed(at(1));
    expect(await outcomes()).toEqual(["1 abandoned", "2 ok", "3 ok"]);
  });

  test("says why a record is a dead letter", async () => {
    const { tracing, stage } = setUp();
    stage.begin(rawRecord(1, "x"), at(1)).deadLettered("undecodable");
    stage.committed(at(1));
    const [span] = await tracing.ended();
    expect(span?.attributes).toMatchObject({ "precedent.outcome": "dead_letter", "error.type": "undecodable" });
  });
});
