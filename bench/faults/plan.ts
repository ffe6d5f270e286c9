// Which fault comes when: rounds in which each comes once, in an order that the seed chooses. Pure.
import type { Random } from "../../algorithms/numeric/random.ts";

/** Endless; the caller decides when to stop. */
export function* rounds<T>(values: readonly T[], random: Random): Generator<T, never> {
  if (values.length === 0) throw new RangeError("no values: no rounds");
  for (;;) {
    const left = [...values];
    while (left.length > 0) yield* left.splice(Math.floor(random() * left.length), 1);
  }
}
