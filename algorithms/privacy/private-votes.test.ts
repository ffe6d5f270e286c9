import fc from "fast-check";
import { expect, test } from "vitest";
import { seatsByVotes, votesOf } from "./private-votes.ts";

const unit = (angle: number): Float32Array => Float32Array.of(Math.cos(angle), Math.sin(angle));
const angles = fc.array(fc.double({ min: 0, max: 6, noNaN: true }), { maxLength: 20 });

test("every text votes for the nearest candidate", () => {
  const candidates = [0, 1, 2].map(unit);
  expect([...votesOf([0.1, 0.9, 1.2, 2.9].map(unit), candidates)]).toEqual([1, 2, 1]);
  expect([...votesOf([unit(0)], [])]).toEqual([]);
  expect([...votesOf([unit(0)], [unit(1), unit(-1), unit(1)])]).toEqual([1, 0, 0]);
});

test("one text more changes one count by one, whatever else there is", () => {
  fc.assert(
    fc.property(angles, fc.double({ min: 0, max: 6, noNaN: true }), angles, (texts, another, candidates) => {
      fc.pre(candidates.length > 0);
      const seats = candidates.map(unit);
      const without = votesOf(texts.map(unit), seats);
      const within = votesOf([...texts, another].map(unit), seats);
      const changes = [...within].map((votes, i) => votes - without[i]!).filter((change) => change !== 0);
      expect(changes).toEqual([1]);
    }),
  );
});

test("seats are shared out by the votes above what noise alone may be", () => {
  const still = { deviation: 0, normal: () => 9 };
  expect(seatsByVotes(Float64Array.of(10, 0, 30), { count: 4, ...still })).toEqual([2, 2, 2, 0]);
  expect(seatsByVotes(Float64Array.of(1, 0, 1, 1), { count: 3, ...still })).toEqual([0, 2, 3]);
  expect(seatsByVotes(Float64Array.of(100, 3, 3), { count: 2, deviation: 2, normal: () => 0 })).toEqual([0, 0]);
});

test("the noise is on every count, and decides where no count is above it", () => {
  const draws = [0, -3, 0, 5];
  const normal = (): number => draws.shift()!;
  expect(seatsByVotes(Float64Array.of(2, 4, 1, 0), { count: 3, deviation: 3, normal })).toEqual([3, 3, 3]);
  const quiet = [0.1, -0.3, 0, 0.5];
  const low = (): number => quiet.shift()!;
  expect(seatsByVotes(Float64Array.of(2, 4, 1, 0), { count: 3, deviation: 3, normal: low })).toEqual([1, 0, 3]);
});

test("there are as many seats as wanted, or candidates", () => {
  const counts = fc.array(fc.nat(50), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      counts,
      fc.integer({ min: 1, max: 40 }),
      fc.double({ min: 0, max: 10, noNaN: true }),
      (votes, count, deviation) => {
        const seats = seatsByVotes(Float64Array.from(votes), { count, deviation, normal: () => 0 });
        const isAbove = votes.some((value) => value > 2 * deviation);
        expect(seats).toHaveLength(isAbove ? count : Math.min(count, votes.length));
      },
    ),
  );
});
