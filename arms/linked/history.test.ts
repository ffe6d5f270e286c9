import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLinkedChoice, type Chosen, type PastSample } from "./choice.ts";
import { followHistory, type CurveOf, type LinkHistory } from "./history.ts";
import type { Sample } from "./idle.ts";

const sample = (n: number, policy: string, kl: number): Sample => ({
  ...{
    requestId: `r${n}`,
    tenant: "t",
    policy: `short:${policy}`,
    kl,
    recomputedShare: policy === "last-1" ? 0.1 : 0.2,
    agreement: 1,
  },
});

/** What ClickHouse would hold: all that was sent, by curve. */
function aHistory() {
  const samples: (PastSample & { model: string })[] = [];
  const choices: (Chosen & { model: string })[] = [];
  const state = { away: false, readings: 0 };
  const check = (): void => {
    state.readings += 1;
    if (state.away) throw new Error("no answer");
  };
  const history: LinkHistory = {
    async samples({ model }, policies, limit) {
      check();
      return Promise.resolve(
        samples.filter((one) => one.model === model && policies.includes(one.policy)).slice(-limit),
      );
    },
    async choices({ model }) {
      check();
      const own = choices.filter((one) => one.model === model);
      return Promise.resolve(new Map(own.map(({ kind, policy }) => [kind, policy])));
    },
    sampled: (one, { model }) => void samples.push({ ...one, model }),
    chose: (one, { model }) => void choices.push({ ...one, model }),
  };
  return { history, samples, choices, state };
}

describe("history of linked prefill", () => {
  const stops: (() => void)[] = [];
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    vi.useRealTimers();
  });
  const settled = () => vi.advanceTimersByTimeAsync(0);
  const minute = () => vi.advanceTimersByTimeAsync(60_000);

  function process(history: LinkHistory | undefined, { policy = "auto", model = "m" } = {}) {
    const choice = createLinkedChoice({ policy, sampleShare: 1, maxKl: { short: 0.1, long: 0.1 } }, () => 0);
    const log = { info: vi.fn(), warn: vi.fn() };
    const of = (): CurveOf => ({ model, convention: "context" });
    const follower = followHistory({ choice, history, of, log });
    stops.push(follower.stop);
    return { choice, log, ...follower };
  }

  it("a restarted process continues from the history, and records no choice again", async () => {
    const { history, choices } = aHistory();
    const first = process(history);
    await settled();
    for (let n = 0; n < 25; n++) first.measured(sample(n, "last-1", 0.02));
    expect(choices.map(({ kind, policy, record }) => [kind, policy, record === null])).toEqual([
      ["short", "last-2", true],
      ["long", "attnlink-4", true],
      ["short", "last-1", false],
    ]);
    const second = process(history);
    expect(second.choice.policy(null)).toBe("short:last-2,long:attnlink-4");
    await settled();
    expect(second.choice.policy(null)).toBe("short:last-1,long:attnlink-4");
    expect(choices).toHaveLength(3);
  });

  it("processes beside each other agree within a reading", async () => {
    const { history, choices } = aHistory();
    const [one, other] = [process(history), process(history)];
    await settled();
    for (let n = 0; n < 12; n++) {
      one.measured(sample(n, "last-1", 0.02));
      other.measured(sample(100 + n, "last-1", 0.03));
    }
    // Neither has enough samples alone.
    expect([one, other].map(({ choice }) => choice.policy(null))).toEqual(
      Array(2).fill("short:last-2,long:attnlink-4"),
    );
    await minute();
    expect([one, other].map(({ choice }) => choice.policy(null))).toEqual(
      Array(2).fill("short:last-1,long:attnlink-4"),
    );
    await minute();
    expect(new Set(choices.map(({ policy }) => policy))).toEqual(new Set(["last-2", "last-1", "attnlink-4"]));
    expect(choices.at(-1)?.policy).toBe("last-1");
  });

  it("knows nothing of another model's curve", async () => {
    const { history } = aHistory();
    const first = process(history);
    await settled();
    for (let n = 0; n < 25; n++) first.measured(sample(n, "last-1", 0.02));
    const other = process(history, { model: "other" });
    await settled();
    expect(other.choice.policy(null)).toBe("short:last-2,long:attnlink-4");
  });

  it("goes by its own samples while the history is away, says so once, and comes back", async () => {
    const { history, state, samples } = aHistory();
    state.away = true;
    const one = process(history);
    await minute();
    await minute();
    expect(one.log.warn).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 25; n++) one.measured(sample(n, "last-1", 0.02));
    expect(one.choice.policy(null)).toBe("short:last-1,long:attnlink-4");
    state.away = false;
    for (let n = 0; n < 100; n++) samples.push({ ...sample(1_000 + n, "last-1", 0.9), model: "m" });
    await minute();
    expect(one.choice.policy(null)).toBe("short:last-2,long:attnlink-4");
    expect(one.log.warn).toHaveBeenCalledTimes(1);
  });

  it("sends what it measures where a policy is set, and reads nothing; without a history it goes by itself", async () => {
    const { history, samples, choices, state } = aHistory();
    const set = process(history, { policy: "last-1" });
    await minute();
    set.measured(sample(1, "last-1", 0.1));
    expect([samples.length, choices.length, state.readings]).toEqual([1, 0, 0]);
    const alone = process(undefined);
    for (let n = 0; n < 25; n++) alone.measured(sample(n, "last-1", 0.02));
    expect(alone.choice.policy(null)).toBe("short:last-1,long:attnlink-4");
  });
});
