import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitmix64, type Random } from "../../numeric/random.ts";
import { attainment, goodput } from "./goodput.ts";
import { quantilesOf } from "../../numeric/quantile.ts";
import { simulateArms, type ArmPlaces, type Workload } from "./simulate.ts";

const requests = 200_000;

/** Poisson arrivals; rates a millisecond. */
function stream(rate: number, service: (random: Random) => number, count = requests): Workload {
  const random = splitmix64(5);
  let at = 0;
  const zeros = new Float64Array(count);
  const took = Float64Array.from({ length: count }, () => service(random));
  return {
    arrival: Float64Array.from({ length: count }, () => (at -= Math.log(1 - random()) / rate)),
    arm: new Int32Array(count),
    ...{ plan: zeros, hop: zeros, first: took, service: took },
    pick: Float64Array.from({ length: count }, () => random()),
  };
}
const exponential =
  (mean: number) =>
  (random: Random): number =>
    -mean * Math.log(1 - random());
const one: ArmPlaces[] = [{ workers: 1, places: 1 }];
const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const near = (seen: number, expected: number, off: number): void =>
  expect(Math.abs(seen / expected - 1), `${seen} beside ${expected}`).toBeLessThan(off);

describe("beside known formulas", () => {
  test.each([0.3, 0.7, 0.85])("M/M/1 at utilisation %d: mean wait, its distribution, utilisation", (load) => {
    const { queueMs, totalMs, utilisation } = simulateArms(stream(load, exponential(1)), one);
    near(mean(queueMs), load / (1 - load), 0.06);
    const [p50, p90, p99] = quantilesOf(totalMs, [0.5, 0.9, 0.99]) as [number, number, number];
    for (const [value, q] of [
      [p50, 0.5],
      [p90, 0.9],
      [p99, 0.99],
    ] as const)
      near(value, -Math.log(1 - q) / (1 - load), 0.08);
    near(utilisation[0]!, load, 0.02);
  });

  test.each([0.3, 0.7, 0.85])("M/D/1 at utilisation %d waits half as long", (load) => {
    const { queueMs } = simulateArms(
      stream(load, () => 1),
      one,
    );
    near(mean(queueMs), load / (2 * (1 - load)), 0.06);
  });

  test.each([
    [4, 0.7],
    [16, 0.8],
  ])("M/M/%d at utilisation %d: Erlang's C", (places, load) => {
    const { queueMs } = simulateArms(stream(load * places, exponential(1)), [{ workers: 1, places }]);
    const waits = erlangC(places, load * places);
    near(queueMs.filter((wait) => wait > 0).length / requests, waits, 0.06);
    near(mean(queueMs), waits / (places * (1 - load)), 0.1);
  });

  test("workers among which chance divides requests are queues of their own", () => {
    const { queueMs } = simulateArms(stream(4 * 0.7, exponential(1)), [{ workers: 4, places: 1 }]);
    near(mean(queueMs), 0.7 / 0.3, 0.06);
  });

  test("goodput of M/M/1: times in it are exponential with the rate that is left", () => {
    const unit = stream(1, exponential(1));
    const at = (rate: number): number => {
      const arrival = unit.arrival.map((time) => time / rate);
      return attainment(simulateArms({ ...unit, arrival }, one), { firstTokenMs: Infinity, totalMs: 10 });
    };
    const found = goodput(at, 0.9);
    near(found.ratePerSecond, 1 - Math.log(10) / 10, 0.02);
    expect(found.attainment).toBeGreaterThanOrEqual(0.9);
    expect(
      goodput(
        (rate) =>
          attainment(simulateArms({ ...unit, arrival: unit.arrival.map((time) => time / rate) }, one), {
            firstTokenMs: 1e-9,
            totalMs: 10,
          }),
        0.9,
      ),
    ).toMatchObject({ ratePerSecond: 0 });
    expect(goodput(() => 1, 0.9)).toEqual({ ratePerSecond: Infinity, attainment: 1 });
  });
});

function erlangC(places: number, offered: number): number {
  let [term, sum] = [1, 1];
  for (let k = 1; k < places; k++) {
    term *= offered / k;
    sum += term;
  }
  const last = ((term * offered) / places) * (places / (places - offered));
  return last / (sum + last);
}

const workloads = fc
  .array(
    fc.record({
      gap: fc.integer({ min: 0, max: 30 }),
      arm: fc.integer({ min: 0, max: 1 }),
      plan: fc.integer({ min: 0, max: 5 }),
      first: fc.integer({ min: 0, max: 20 }),
      rest: fc.integer({ min: 0, max: 60 }),
      pick: fc.double({ min: 0, max: 0.999, noNaN: true }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((rows): Workload => {
    let at = 0;
    const of = (value: (row: (typeof rows)[number]) => number): Float64Array => Float64Array.from(rows, value);
    return {
      arrival: of(({ gap }) => (at += gap)),
      arm: Int32Array.from(rows, ({ arm }) => arm),
      plan: of(() => 3),
      hop: of(({ plan }) => plan),
      first: of(({ first }) => first),
      service: of(({ first, rest }) => first + rest),
      pick: of(({ pick }) => pick),
    };
  });
const places = fc.tuple(
  fc.record({ workers: fc.integer({ min: 1, max: 3 }), places: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ workers: fc.integer({ min: 1, max: 3 }), places: fc.integer({ min: 1, max: 3 }) }),
);

describe("whatever comes", () => {
  test("never more calls at once than slots, times add up, and more slots of a worker delay no call", () => {
    fc.assert(
      fc.property(workloads, places, (workload, arms) => {
        const seen = simulateArms(workload, arms);
        const { arrival, plan, hop, first, service, arm } = workload;
        const began = arrival.map((at, i) => at + plan[i]! + seen.queueMs[i]!);
        for (let i = 0; i < arrival.length; i++) {
          expect(seen.queueMs[i]!).toBeGreaterThanOrEqual(hop[i]!);
          expect(seen.firstTokenMs[i]!).toBeCloseTo(plan[i]! + seen.queueMs[i]! + first[i]!, 9);
          expect(seen.totalMs[i]!).toBeCloseTo(plan[i]! + seen.queueMs[i]! + service[i]!, 9);
          const { workers, places: each } = arms[arm[i]!]!;
          let atOnce = 0;
          for (let j = 0; j < arrival.length; j++)
            if (arm[j] === arm[i] && began[j]! <= began[i]! && began[j]! + service[j]! > began[i]!) atOnce++;
          expect(atOnce).toBeLessThanOrEqual(workers * each);
        }
        const more = simulateArms(
          workload,
          arms.map((one) => ({ ...one, places: one.places + 1 })),
        );
        more.queueMs.forEach((wait, i) => expect(wait).toBeLessThanOrEqual(seen.queueMs[i]! + 1e-9));
      }),
    );
  });

  test("an arm without a place is refused", () => {
    expect(() =>
      simulateArms(
        stream(1, () => 1, 3),
        [{ workers: 0, places: 1 }],
      ),
    ).toThrow(RangeError);
    expect(
      simulateArms(
        stream(1, () => 1, 0),
        one,
      ),
    ).toMatchObject({ utilisation: [0] });
  });
});
