import { describe, expect, test } from "vitest";
import { figuresOf, type Part, type Round, type Turn } from "./figures.ts";
import { checkOutcomes } from "./outcomes.ts";

const turn = (latencies: number[], more: Partial<Turn> = {}): Turn => ({
  seconds: 1,
  latencies,
  firstTokens: latencies.map((ms) => ms / 2),
  cpuSeconds: {},
  ...more,
});
const part = (inFlight: number, stream: boolean, rounds: Round[]): Part => ({ inFlight, stream, rounds });
const plain: Round = { direct: turn([20, 22]), ours: turn([50, 60]), litellm: turn([40, 44]) };
const parts: Part[] = [
  part(1, false, [plain, { direct: turn([30]), ours: turn([70]), litellm: turn([90]) }]),
  part(16, false, [plain]),
  part(64, false, [
    {
      direct: turn([20, 20, 20, 20]),
      ours: turn([20, 20, 20], { cpuSeconds: { main: 0.003, kafka: 0.006 } }),
      litellm: turn([20], { cpuSeconds: { main: 0.01 } }),
    },
    {
      direct: turn([20, 20, 20, 20]),
      ours: turn([20, 20, 20, 20], { seconds: 0.5, cpuSeconds: { main: 0.012, kafka: 0.004 } }),
      litellm: turn([20, 20], { cpuSeconds: { main: 0.02 } }),
    },
  ]),
  part(1, true, [plain]),
  part(16, true, [plain]),
];

describe("figures of the gateway benchmark", () => {
  const { figures, reasons } = figuresOf(parts, { portkey: "no registry" }, {});

  test("what is added is beyond the direct calls of the same round", () => {
    expect(figures["ours"]).toMatchObject({ added_p50_ms_1: 37, added_p50_ms_16: 34, p50_ms_16: 55 });
    expect(figures["direct"]).toMatchObject({ added_p50_ms_1: 0, p50_ms_16: 21, cpu_ms_per_request: null });
    expect(figures["ours"]).toMatchObject({ first_token_ms: 27.5, added_first_token_ms: 17 });
  });

  test("CPU a request is that of all processes of the system", () => {
    expect(figures["ours"]).toMatchObject({
      cpu_ms_per_request: 3.5,
      cpu_ms_by_process: { main: 2, kafka: 1.5 },
      requests_per_s_64: 5.5,
    });
    expect(figures["litellm"]).toMatchObject({ cpu_ms_per_request: 10 });
  });

  test("ratios are of the turns of one round", () => {
    expect(figures).toMatchObject({ ratio_litellm: 3.5, ratio_litellm_range: [3, 4] });
  });

  test("a peer that could not be had is null with the reason", () => {
    expect(figures).toMatchObject({ portkey: null, ratio_portkey: null });
    expect(reasons).toMatchObject({ portkey: "no registry", ratio_portkey: "no registry" });
    expect(reasons?.["direct.cpu_ms_per_request"]).toBeDefined();
  });

  test("a peer that fails when it streams has its other figures", () => {
    const streaming = { direct: plain.direct, ours: plain.ours };
    const some = parts.map((one) => (one.stream ? { ...one, rounds: [streaming] } : one));
    const result = figuresOf(some, { portkey: "no registry" }, { litellm: "streaming: 500" });
    expect(result.figures).toMatchObject({ ratio_litellm: 3.5, litellm: { p50_ms_16: 42, first_token_ms: null } });
    expect(result.reasons).toMatchObject({ "litellm.first_token_ms": "streaming: 500" });
  });
});

describe("outcomes", () => {
  const good = {
    requests: { ours: 5, direct: 3 },
    model_calls: { ours: { calls: 5, questions: 5 }, direct: { calls: 3, questions: 3 } },
    ours_recorded: { responses: { rows: 5, ids: 5 } },
  };

  test("every request answered by the model, and once", () => {
    expect(() => checkOutcomes(good)).not.toThrow();
    const reused = { ...good.model_calls, direct: { calls: 2, questions: 2 } };
    expect(() => checkOutcomes({ ...good, model_calls: reused })).toThrow("direct answered 3");
    const doubled = { ...good.model_calls, ours: { calls: 6, questions: 5 } };
    expect(() => checkOutcomes({ ...good, model_calls: doubled })).toThrow("6 times for 5");
  });

  test("a record that is lost or doubled", () => {
    for (const responses of [
      { rows: 4, ids: 4 },
      { rows: 6, ids: 5 },
    ])
      expect(() => checkOutcomes({ ...good, ours_recorded: { responses } })).toThrow("responses has");
  });
});
