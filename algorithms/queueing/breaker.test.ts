import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBreaker, type Breaker, type BreakerSettings, type Verdict } from "./breaker.ts";

const settings: BreakerSettings = {
  ...{ share: 0.5, minimum: 4, windowMs: 10_000, openMs: 1_000, mostOpenMs: 4_000, probes: 2 },
};
const call = (breaker: Breaker, verdict: Verdict, now: number, flow = "a", random = 0): boolean => {
  const turn = breaker.enter(now);
  if (turn !== undefined) breaker.leave(turn, verdict, flow, now, random);
  return turn !== undefined;
};
/** Opened at `now`. */
function opened(now = 0): Breaker {
  const breaker = createBreaker(settings);
  for (let i = 0; i < settings.minimum; i++) call(breaker, "failure", now);
  return breaker;
}

describe("a breaker", () => {
  it("opens at its share of failures, not before the minimum, and lets nothing through for its time", () => {
    const breaker = createBreaker(settings);
    for (const verdict of ["failure", "success", "failure"] as const) call(breaker, verdict, 0);
    expect(breaker.state(0)).toBe("closed");
    call(breaker, "failure", 0);
    expect([breaker.state(0), breaker.state(999), breaker.state(1_000)]).toEqual(["open", "open", "half-open"]);
    expect(breaker.enter(999)).toBeUndefined();
  });

  it("counts nothing that says nothing of the arm, and nothing older than its window", () => {
    const breaker = createBreaker(settings);
    for (let i = 0; i < 20; i++) call(breaker, "ignored", i);
    for (let i = 0; i < 3; i++) call(breaker, "failure", 100);
    call(breaker, "failure", 100 + settings.windowMs);
    expect(breaker.state(100 + settings.windowMs)).toBe("closed");
  });

  it("opens for an endpoint that can't be reached twice in a row, whatever others got before", () => {
    const breaker = createBreaker(settings);
    for (let i = 0; i < 20; i++) call(breaker, "success", 0, `tenant ${i}`);
    for (const verdict of ["unreachable", "success", "unreachable", "failure", "unreachable"] as const)
      call(breaker, verdict, 1);
    call(breaker, "ignored", 1);
    expect(breaker.state(1)).toBe("closed");
    call(breaker, "unreachable", 2, "b");
    expect(breaker.state(2)).toBe("open");
    // One probe that does not reach it is enough, and after it has closed the count starts again.
    call(breaker, "unreachable", 1_002);
    expect([breaker.state(1_002), breaker.state(3_002)]).toEqual(["open", "half-open"]);
    for (let i = 0; i < settings.probes; i++) call(breaker, "success", 3_002);
    call(breaker, "unreachable", 3_002);
    expect(breaker.state(3_002)).toBe("closed");
  });

  it("half-open lets its probes through at a time; as many successes close it", () => {
    const breaker = opened();
    const turns = [breaker.enter(1_000), breaker.enter(1_000), breaker.enter(1_000)];
    expect(turns.map((turn) => turn?.probe)).toEqual([true, true, undefined]);
    // One that says nothing gives its turn to the next.
    breaker.leave(turns[0]!, "ignored", "a", 1_001, 0);
    const third = breaker.enter(1_001);
    breaker.leave(third!, "success", "a", 1_002, 0);
    expect(breaker.state(1_002)).toBe("half-open");
    breaker.leave(turns[1]!, "success", "a", 1_003, 0);
    expect(breaker.state(1_003)).toBe("closed");
    // The count starts again from 0: one failure is not enough.
    call(breaker, "failure", 1_004);
    expect(breaker.state(1_004)).toBe("closed");
  });

  it("a probe that fails opens it for twice as long, up to the most; closed, it starts over", () => {
    const breaker = opened();
    let now = 0;
    for (const ms of [1_000, 2_000, 4_000, 4_000]) {
      expect([breaker.state(now + ms - 1), breaker.state(now + ms)]).toEqual(["open", "half-open"]);
      now += ms;
      call(breaker, "failure", now);
    }
    now += 4_000;
    call(breaker, "success", now);
    call(breaker, "success", now);
    expect(breaker.state(now)).toBe("closed");
    for (let i = 0; i < settings.minimum; i++) call(breaker, "failure", now);
    expect([breaker.state(now + 999), breaker.state(now + 1_000)]).toEqual(["open", "half-open"]);
  });

  it("calls that were let through before it opened or closed do not count", () => {
    const breaker = createBreaker(settings);
    const late = [breaker.enter(0)!, breaker.enter(0)!];
    for (let i = 0; i < settings.minimum; i++) call(breaker, "failure", 0);
    for (const turn of late) breaker.leave(turn, "success", "a", 1_500, 0);
    expect(breaker.state(1_500)).toBe("half-open");
  });

  it("probes that never end are followed by others", () => {
    const breaker = opened();
    expect([1_000, 1_000, 1_999].map((now) => breaker.enter(now) !== undefined)).toEqual([true, true, false]);
    expect(breaker.enter(2_000)?.probe).toBe(true);
  });

  it("adds up to a quarter to the time it is open", () => {
    const breaker = createBreaker(settings);
    for (let i = 0; i < settings.minimum; i++) call(breaker, "failure", 0, "a", 0.999_999);
    expect([breaker.state(1_249), breaker.state(1_250)]).toEqual(["open", "half-open"]);
  });
});

const steps = fc.array(
  fc.record({
    ms: fc.nat({ max: 3_000 }),
    flow: fc.constantFrom("a", "b", "c"),
    verdict: fc.constantFrom<Verdict>("success", "failure", "ignored"),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
  }),
  { maxLength: 200 },
);

describe("any sequence of calls", () => {
  it("never has more probes under way than allowed, and is closed, open and half-open only in their order", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 4 }), (sequence, probes) => {
        const breaker = createBreaker({ ...settings, probes });
        let now = 0;
        let before = breaker.state(now);
        for (const { ms, flow, verdict, random } of sequence) {
          now += ms;
          const waited = breaker.state(now);
          // Time alone does nothing but end an opening.
          if (waited !== before) expect([before, waited]).toEqual(["open", "half-open"]);
          const turn = breaker.enter(now);
          expect(turn === undefined).toBe(waited === "open");
          if (turn === undefined) continue;
          expect(turn.probe).toBe(waited === "half-open");
          const more = Array.from({ length: probes }, () => breaker.enter(now));
          if (turn.probe) expect(more.filter((one) => one !== undefined)).toHaveLength(probes - 1);
          for (const one of more) if (one !== undefined) breaker.leave(one, "ignored", flow, now, random);
          breaker.leave(turn, verdict, flow, now, random);
          before = breaker.state(now);
          const after: Record<string, string[]> = {
            closed: ["closed", "open"],
            "half-open": ["half-open", "closed", "open"],
          };
          expect(after[waited]).toContain(before);
          if (verdict !== "failure") expect(before).not.toBe("open");
        }
      }),
    );
  });

  it("one flow that always fails never opens it for two others that are answered, however much it sends", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 40 }), (bursts) => {
        const breaker = createBreaker(settings);
        let now = 0;
        for (const flow of ["b", "c"]) call(breaker, "success", now, flow);
        for (const burst of bursts) {
          now += 100;
          for (const flow of ["b", "c"]) call(breaker, "success", now, flow);
          for (let i = 0; i < burst; i++) call(breaker, "failure", now, "hostile");
          expect(breaker.state(now)).toBe("closed");
        }
      }),
    );
  });

  it("opens within the minimum of failures when nothing succeeds, for any caller", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 4, maxLength: 4 }), (names) => {
        const breaker = createBreaker(settings);
        for (const name of names) call(breaker, "failure", 0, name);
        expect(breaker.state(0)).toBe("open");
      }),
    );
  });
});
