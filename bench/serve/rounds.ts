// A request of the stream as every arm answered it, and choices between the answers. Pure.
import type { Choices, Round } from "../ladder/replay.ts";
import type { Domain } from "./stream.ts";

/** Contexts of the routed arms; quality and CPU of them and, last, of the nearest answer. */
export interface Served extends Round {
  domain: Domain;
  /** Similarity of the nearest example; null: there was none. */
  similarity: number | null;
}

/** The choice of one arm a request. */
export const taking = (rounds: readonly Served[], arm: (round: Served, i: number) => number): Choices =>
  rounds.map((round, i) => {
    const taken = arm(round, i);
    return round.quality.map((_, other) => (other === taken ? 1 : 0));
  });
