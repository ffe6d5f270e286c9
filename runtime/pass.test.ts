import { describe, expect, expectTypeOf, it } from "vitest";
import { pass } from "./pass.ts";

interface Dependencies {
  start: number;
  fail?: () => void;
  everyMs?: number;
}

function timing() {
  const observed: string[] = [];
  let time = 0;
  return {
    observed,
    sleep: (milliseconds: number) => void (time += milliseconds),
    context: { now: () => time, observe: (operator: string) => void observed.push(operator) },
  };
}

describe("a pass", () => {
  const sums = pass<Dependencies>()
    .step("one", ({ start }) => () => ({ one: start }))
    .step(
      "check",
      ({ fail }) =>
        () =>
          fail?.(),
    )
    .step(
      "two",
      () =>
        ({ one }: { one: number }) =>
          Promise.resolve({ two: one + 1 }),
    )
    .end();

  it("gives each step what those before it found, and names and times them in order", async () => {
    const { context, observed } = timing();
    const found = await sums.bind({ start: 1, ...context })();
    expect(found).toEqual({ one: 1, two: 2 });
    expectTypeOf(found).toEqualTypeOf<object & { one: number } & { two: number }>();
    expect(sums.operators).toEqual(["one", "check", "two"]);
    expect(observed).toEqual(["one", "check", "two"]);
  });

  it("breaks off where a step rejects, and begins at the first again", async () => {
    const { context, observed } = timing();
    let failures = 1;
    const fail = (): void => {
      if (failures-- > 0) throw new Error("away");
    };
    const run = sums.bind({ start: 5, fail, ...context });
    await expect(run()).rejects.toThrow("away");
    expect(observed).toEqual(["one"]);
    expect(await run()).toEqual({ one: 5, two: 6 });
  });

  it("does a step that is not due at every pass after so long, counted from when it last succeeded", async () => {
    const { context, observed, sleep } = timing();
    let failing = false;
    const now = pass<Dependencies>()
      .every(
        "sweep",
        ({ everyMs = 0 }) => everyMs,
        { swept: 0 },
        ({ start }) =>
          () => {
            if (failing) throw new Error("away");
            return { swept: start };
          },
      )
      .end()
      .bind({ start: 3, everyMs: 10, ...context });
    expect(await now()).toEqual({ swept: 3 });
    expect(await now()).toEqual({ swept: 0 });
    sleep(10);
    failing = true;
    await expect(now()).rejects.toThrow("away");
    failing = false;
    expect(await now()).toEqual({ swept: 3 });
    expect(observed).toEqual(["sweep", "sweep"]);
  });

  it("does not compile where a step needs what no step before it adds", () => {
    // @ts-expect-error: nothing adds `three`
    pass<Dependencies>().step("two", () => ({ three }: { three: number }) => ({ two: three }));
  });
});
