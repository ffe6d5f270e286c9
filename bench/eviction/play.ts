// The hours of a pool under one policy: what the uses were worth that found their example, and how
// the choice looked when it was made.
import type { Random } from "../../algorithms/numeric/random.ts";
import { createSimulatedPool, graceHours, type Candidate } from "../support/simulated-pool.ts";
import type { Hours } from "./pool.ts";
import type { Policy } from "./policies.ts";

export interface Played {
  /** Credit of the uses after the first eviction that found their example, and of all of them. */
  realised: number;
  possible: number;
  /** Value kept by the choices, as it stood then, and of all that was there to choose from. */
  kept: number;
  weighed: number;
  /** The first choices, for solving them exactly. */
  choices: { candidates: Candidate[]; capacity: number }[];
}

const mostChoices = 12;

export function play({ items, first, hours }: Hours, budget: number, policy: Policy, random: Random): Played {
  const played: Played = { realised: 0, possible: 0, kept: 0, weighed: 0, choices: [] };
  let measuring = false;
  const pool = createSimulatedPool({
    items,
    choose: (candidates, capacity) => policy(candidates, capacity, random),
    onChoice({ candidates, capacity, stays }) {
      measuring = true;
      if (played.choices.length < mostChoices)
        played.choices.push({ candidates: candidates.map((one) => ({ ...one })), capacity });
      for (const [index, { value }] of candidates.entries()) {
        played.weighed += value;
        if (stays.has(index)) played.kept += value;
      }
    },
  });

  for (const item of first) if (pool.bytes() + items[item]!.bytes <= budget) pool.admit(item, -graceHours);
  for (const [hour, uses] of hours.entries()) {
    for (const { item, credit, returns } of uses) {
      pool.arrive();
      if (measuring) played.possible += credit;
      if (!pool.has(item)) {
        if (returns) pool.admit(item, hour);
        continue;
      }
      if (measuring) played.realised += credit;
      pool.use(item, credit);
    }
    pool.endHour(hour + 1, budget);
  }
  return played;
}
