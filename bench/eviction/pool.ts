// A pool of examples with the sizes of real texts, and hours of requests over it: skewed, and with
// popularity that moves. Everything that chance decides is drawn here, so that every policy meets
// the same hours.
import { exampleBytes } from "../../algorithms/selection/example-bytes.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { Item } from "../support/simulated-pool.ts";

/** A request that the example fits best. */
export interface Use {
  item: number;
  /** What it is worth where the example is held: its share of an offload, 0 where that fails. */
  credit: number;
  /** Where the example is not held, the answer becomes one (again). */
  returns: boolean;
}

export interface Hours {
  items: Item[];
  /** Items held at the beginning, as many as fit. */
  first: number[];
  hours: Use[][];
}

export interface HoursOptions {
  sizes: readonly number[];
  hours: number;
  usesAnHour: number;
  /** Share of the popularities that is drawn anew each hour. */
  drift: number;
  random: Random;
}

const dimension = 384;
/** Exponent of Zipf's law. */
const skew = 0.9;
/** An answer is rated and good enough to be kept so often. */
const returnShare = 0.3;
const mostShown = 5;

/** Bytes of the pairs of questions and answers, with their vectors. */
export const sizesOf = (pairs: readonly { request: string; response: string }[]): number[] =>
  pairs.map(({ request, response }) => exampleBytes(request, response, dimension));

export function drawHours({ sizes, hours, usesAnHour, drift, random }: HoursOptions): Hours {
  const items = sizes.map((bytes) => ({ bytes, quality: 0.5 + 0.5 * random() }));
  // Which item has which rank.
  const order = shuffle(
    items.map((_, index) => index),
    random,
  );
  const cumulated: number[] = [];
  for (let rank = 1, sum = 0; rank <= items.length; rank++) cumulated.push((sum += rank ** -skew));
  const total = cumulated.at(-1)!;
  const drawn = Array.from({ length: hours }, () => {
    for (let i = 0; i < drift * items.length; i++) swap(order, at(random, order.length), at(random, order.length));
    return Array.from({ length: usesAnHour }, (): Use => {
      const item = order[firstAbove(cumulated, random() * total)]!;
      const shown = 1 + at(random, mostShown);
      const credit = random() < items[item]!.quality ? 1 / shown : 0;
      return { item, credit, returns: random() < returnShare };
    });
  });
  return {
    items,
    first: shuffle(
      items.map((_, index) => index),
      random,
    ),
    hours: drawn,
  };
}

const at = (random: Random, length: number): number => Math.floor(random() * length);

function swap(values: number[], a: number, b: number): void {
  [values[a], values[b]] = [values[b]!, values[a]!];
}

function shuffle(values: number[], random: Random): number[] {
  for (let i = values.length - 1; i > 0; i--) swap(values, i, at(random, i + 1));
  return values;
}

function firstAbove(cumulated: readonly number[], value: number): number {
  let [low, high] = [0, cumulated.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cumulated[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
