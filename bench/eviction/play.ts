// The hours of a pool under one policy: what the uses were worth that found their example, and how
// the choice looked when it was made.
import { creditRetention } from "../../algorithms/gain.ts";
import type { Random } from "../../algorithms/random.ts";
import type { Hours } from "./pool.ts";
import type { Candidate, Policy } from "./policies.ts";

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

interface Held extends Candidate {
  item: number;
  cameAt: number;
  credit: number;
}

/** As curate has it: a little more room than is missing, and an hour of grace. */
const fillTo = 0.95;
const graceHours = 1;
const mostChoices = 12;

export function play({ items, first, hours }: Hours, budget: number, policy: Policy, random: Random): Played {
  const held = new Map<number, Held>();
  const played: Played = { realised: 0, possible: 0, kept: 0, weighed: 0, choices: [] };
  let bytes = 0;
  let requests = 0;
  let measuring = false;

  function admit(item: number, hour: number): void {
    const { bytes: weight, quality } = items[item]!;
    held.set(item, { item, bytes: weight, value: quality, lastUse: requests, uses: 0, cameAt: hour, credit: 0 });
    bytes += weight;
  }

  function evict(hour: number): void {
    if (bytes <= budget) return;
    measuring = true;
    for (const one of held.values())
      one.value = one.credit + items[one.item]!.quality * creditRetention ** (hour - one.cameAt);
    const old = [...held.values()].filter(({ cameAt }) => hour - cameAt >= graceHours);
    const capacity = Math.max(0, Math.floor(budget * fillTo - (bytes - sum(old, "bytes"))));
    const stays = new Set(policy(old, capacity, random));
    if (played.choices.length < mostChoices)
      played.choices.push({ candidates: old.map((one) => ({ ...one })), capacity });
    played.weighed += sum(old, "value");
    for (const [index, one] of old.entries()) {
      if (stays.has(index)) played.kept += one.value;
      else {
        held.delete(one.item);
        bytes -= one.bytes;
      }
    }
  }

  for (const item of first) if (bytes + items[item]!.bytes <= budget) admit(item, -graceHours);
  for (const [hour, uses] of hours.entries()) {
    for (const { item, credit, returns } of uses) {
      requests++;
      const one = held.get(item);
      if (measuring) played.possible += credit;
      if (one === undefined) {
        if (returns) admit(item, hour);
        continue;
      }
      if (measuring) played.realised += credit;
      one.uses++;
      one.lastUse = requests;
      one.credit += credit;
    }
    evict(hour + 1);
    for (const one of held.values()) one.credit *= creditRetention;
  }
  return played;
}

const sum = (some: readonly Candidate[], of: "bytes" | "value"): number =>
  some.reduce((total, one) => total + one[of], 0);
