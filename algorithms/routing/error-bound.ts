// Time-uniform upper bound of an error rate from verified cases (docs/arms.md, reuse): it holds
// however often it is looked at, unlike Clopper-Pearson. Pure.

export interface Verified {
  cases: number;
  wrong: number;
}

/** Prior of the mixture, mean 5 % wrong: near usual limits, it needs the fewest cases. */
const prior = { wrong: 0.25, right: 5 } as const;

const lanczos = [
  76.180_091_729_471_46, -86.505_320_329_416_77, 24.014_098_240_830_91, -1.231_739_572_450_155,
  0.001_208_650_973_866_179, -0.000_005_395_239_384_953,
];

/** For x > 0, to about ten digits. */
function lnGamma(x: number): number {
  const shifted = x + 5.5 - (x + 0.5) * Math.log(x + 5.5);
  const series = lanczos.reduce((sum, coefficient, k) => sum + coefficient / (x + k + 1), 1.000_000_000_190_015);
  return -shifted + Math.log((2.506_628_274_631_000_5 * series) / x);
}
const lnBeta = (a: number, b: number): number => lnGamma(a) + lnGamma(b) - lnGamma(a + b);

/**
 * Upper confidence bound of the rate of wrong cases, [0, 1]; 1 without any. Time-uniform by a
 * beta-binomial mixture and Ville's inequality (Robbins 1970; Howard et al. 2021).
 */
export function upperErrorBound({ cases, wrong }: Verified, confidence: number): number {
  if (cases === 0) return 1;
  const right = cases - wrong;
  const mixture = lnBeta(prior.wrong + wrong, prior.right + right) - lnBeta(prior.wrong, prior.right);
  const most = -Math.log(1 - confidence);
  const against = (rate: number): number =>
    mixture - (wrong === 0 ? 0 : wrong * Math.log(rate)) - (right === 0 ? 0 : right * Math.log1p(-rate));
  let [low, high] = [wrong / cases, 1];
  if (right === 0) return 1;
  // It rises from the share that was seen to 1.
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (against(middle) < most) low = middle;
    else high = middle;
  }
  return high;
}

export interface ErrorWatch {
  counted: Verified;
  bound: number;
  alarms: number;
}

/** At the limit itself, an alarm comes at most once in this many cases, and less often below it. */
const casesBetweenAlarms = 200;

export interface WatchSettings {
  limit: number;
  confidence: number;
}

/** Share of the error probability spent after so many alarms; the shares sum to 1. */
const spent = (alarms: number): number => (alarms === 0 ? 0.75 : 0.25 / (alarms * (alarms + 1)));

/**
 * Takes verified cases in order. Beside the bound, the mean of two CUSUMs against the limit watches
 * for a change (e-detector; Shin, Ramdas, Rinaldo 2023). An alarm restarts the evidence.
 */
export function createErrorWatch({ limit, confidence }: WatchSettings) {
  const far = (1 + limit) / 2;
  const worse = [Math.min(2 * limit, far), far];
  let sums = worse.map(() => 0);
  let counted = { cases: 0, wrong: 0 };
  let alarms = 0;
  return {
    add(wrong: boolean): void {
      counted = { cases: counted.cases + 1, wrong: counted.wrong + Number(wrong) };
      sums = sums.map((sum, k) => {
        const ratio = wrong ? worse[k]! / limit : (1 - worse[k]!) / (1 - limit);
        return Math.max(1, sum) * ratio;
      });
      if (sums.reduce((total, sum) => total + sum, 0) / sums.length < casesBetweenAlarms) return;
      alarms++;
      sums = worse.map(() => 0);
      counted = { cases: 0, wrong: 0 };
    },
    now: (): ErrorWatch => ({ counted, bound: upperErrorBound(counted, 1 - (1 - confidence) * spent(alarms)), alarms }),
  };
}

export function watchErrors(outcomes: Iterable<{ wrong: boolean }>, settings: WatchSettings): ErrorWatch {
  const watch = createErrorWatch(settings);
  for (const { wrong } of outcomes) watch.add(wrong);
  return watch.now();
}
