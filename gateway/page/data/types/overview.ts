// Figures of a period: of all answers, by arm, in steps.

/** Sums over answers. Times in ms; null: nothing was measured. */
export interface Figures {
  answers: number;
  failed: number;
  /** Answers from the response cache, or copied from an example. */
  cacheHits: number;
  cost: number;
  savedCost: number;
  /** Those of generated answers, without the examples' tokens. */
  tokens: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  firstTokenP50Ms: number | null;
  firstTokenP95Ms: number | null;
}

/** Figures of one arm; "": answers without an arm. */
export interface ArmFigures extends Figures {
  arm: string;
  /** What its own generated answers cost, and their tokens: the price of a token. */
  generatedCost: number;
  generatedTokens: number;
  promptTokens: number;
  linkedTokens: number;
  recomputedTokens: number;
  prefilledTokens: number;
}

/** Figures of one arm and source in one time step. */
export interface ArmStep extends Figures {
  at: number;
  arm: string;
  source: string;
}

/** Ratings given in the period: mean reward, 0 to 1. */
export interface Quality {
  rated: number;
  mean: number | null;
  /** The 95 % interval is mean -+ this; null: no rating. */
  reach: number | null;
}

export interface Overview {
  from: number;
  until: number;
  stepMs: number;
  now: Figures & { quality: Quality };
  /** Figures of the equally long period before. */
  before: Figures & { quality: Quality };
  steps: ArmStep[];
  arms: (ArmFigures & { quality: Quality })[];
  /** Mean reward by arm in steps. */
  rewards: { at: number; arm: string; rated: number; mean: number }[];
  errors: { code: string; answers: number }[];
  /** Policies that were published in the time, newest first. */
  learnt: Learnt[];
  deadLetters: number;
}

export interface Learnt {
  name: string;
  version: number;
  createdAt: number;
  revertOf: number | null;
  /** Router policies only: others choose no arm. */
  quality: Quality | null;
  before: Quality | null;
}
