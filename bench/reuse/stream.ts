// The arm's switch on a stream of requests whose right answers are known: what is verified, when it
// is on, what it serves, and what happens when wrong answers come into the pool half-way. The same
// code that learn runs verifies (algorithms/routing/error-bound.ts). A simulation: draws from
// labelled pairs, no stack. Pure but for the random source.
import { createErrorWatch } from "../../algorithms/routing/error-bound.ts";
import type { Random } from "../../algorithms/numeric/random.ts";

export interface StreamSettings {
  limit: number;
  confidence: number;
  verifyShare: number;
  /** Requests before the pool is poisoned, and after. */
  before: number;
  after: number;
  /** Cases between two publications of the bound: it lags by so many. */
  lag: number;
}

export interface Streamed {
  /** It was on while more than the limit of what it could answer was wrong, before the poison. */
  violated: boolean;
  /** Before the poison: served, and wrong of these. */
  served: number;
  wrong: number;
  /** Served after the poison, all of it wrong. */
  poisoned: number;
  /** Share of the requests before the poison on which it was on. */
  on: number;
  /** At the end of the stream. */
  offAtEnd: boolean;
}

/** eligible: of the pairs that the arm could answer, whether the answer is right. */
export function stream(eligible: readonly boolean[], settings: StreamSettings, random: Random): Streamed {
  const rate = eligible.filter((right) => !right).length / eligible.length;
  const watch = createErrorWatch(settings);
  let isOn = false;
  let verified = 0;
  const done = { violated: false, served: 0, wrong: 0, poisoned: 0, on: 0 };
  for (let i = 0; i < settings.before + settings.after; i++) {
    const isPoisoned = i >= settings.before;
    const wrong = isPoisoned || !eligible[Math.floor(random() * eligible.length)]!;
    if (isOn && !isPoisoned) {
      done.on++;
      if (rate > settings.limit) done.violated = true;
    }
    if (random() < settings.verifyShare || !isOn) {
      watch.add(wrong);
      if (++verified % settings.lag === 0) isOn = watch.now().bound <= settings.limit;
    } else if (isPoisoned) done.poisoned++;
    else {
      done.served++;
      if (wrong) done.wrong++;
    }
  }
  return { ...done, on: done.on / settings.before, offAtEnd: !isOn };
}
