// Choices between the arms for each request, and what they are worth. Pure.
import type { Domain } from "./stream.ts";

/** A request as every arm answered it, in the order of the arms. */
export interface Round {
  domain: Domain;
  /** Of the nearest example; null: there was none. */
  similarity: number | null;
  /** Of the routed arms. */
  contexts: number[][];
  /** [0, 1]; of the routed arms, then of the nearest example's answer. */
  quality: number[];
  /** CPU seconds, all of ours included. */
  cpu: number[];
}

/** Probability of each arm for each request; rows sum to 1. */
export type Choices = number[][];

/** The choice of one arm a request. */
export const taking = (rounds: readonly Round[], arm: (round: Round, i: number) => number): Choices =>
  rounds.map((round, i) => {
    const taken = arm(round, i);
    return round.quality.map((_, other) => (other === taken ? 1 : 0));
  });

export const always = (rounds: readonly Round[], arm: number): Choices => taking(rounds, () => arm);

/** Quality less cost weight times CPU time; `unit`: CPU seconds of a price of 1. */
export const valuesOf = (rounds: readonly Round[], costWeight: number, unit: number): number[][] =>
  rounds.map(({ quality, cpu }) => quality.map((value, arm) => value - (costWeight * cpu[arm]!) / unit));

/** Expectation of each request under the choice probabilities. */
export const expected = (choices: Choices, of: readonly (readonly number[])[]): number[] =>
  choices.map((row, i) => row.reduce((sum, probability, arm) => sum + probability * of[i]![arm]!, 0));

/** Pairs won against one arm, ties half, of each request. */
export const wins = (rounds: readonly Round[], against: number): number[][] =>
  rounds.map(({ quality }) =>
    quality.map((value) => (value > quality[against]! ? 1 : value === quality[against]! ? 0.5 : 0)),
  );
