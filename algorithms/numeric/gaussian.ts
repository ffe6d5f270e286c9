// The normal distribution function: erfc by W. J. Cody's approximations (Math. Comp. 23, 1969).

const A = [3.1611237438705656, 113.864154151050156, 377.485237685302021, 3209.37758913846947, 0.185777706184603153];
const B = [23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062];
const C = [
  0.564188496988670089, 8.88314979438837594, 66.1191906371416295, 298.635138197400131, 881.95222124176909,
  1712.04761263407058, 2051.07837782607147, 1230.33935479799725, 2.15311535474403846e-8,
];
const D = [
  15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019, 3290.79923573345963,
  4362.61909014324716, 3439.36767414372164, 1230.33935480374942,
];
const P = [
  0.305326634961232344, 0.360344899949804439, 0.125781726111229246, 0.0160837851487422766, 6.58749161529837803e-4,
  0.0163153871373020978,
];
const Q = [
  2.56852019228982242, 1.87295284992346725, 0.527905102951428412, 0.0605183413124413191, 0.00233520497626869185,
];

/** Numerator and denominator share the loop; the last numerator coefficient is the leading one. */
function rational(numerator: readonly number[], denominator: readonly number[], y: number): number {
  const last = denominator.length - 1;
  let top = numerator[last + 1]! * y;
  let bottom = y;
  for (let i = 0; i < last; i++) {
    top = (top + numerator[i]!) * y;
    bottom = (bottom + denominator[i]!) * y;
  }
  return (top + numerator[last]!) / (bottom + denominator[last]!);
}

/** exp(-y^2) without the rounding of y^2. */
function gauss(y: number): number {
  const head = Math.trunc(y * 16) / 16;
  return Math.exp(-head * head) * Math.exp(-(y - head) * (y + head));
}

/** Complementary error function; relative error about 1e-15 until it underflows. */
export function erfc(x: number): number {
  const y = Math.abs(x);
  if (y <= 0.46875) return 1 - x * rational(A, B, y * y);
  let result: number;
  if (y <= 4) result = gauss(y) * rational(C, D, y);
  else if (y > 27) result = 0;
  else {
    const z = 1 / (y * y);
    result = (gauss(y) / y) * (0.5641895835477562869 - z * rational(P, Q, z));
  }
  return x < 0 ? 2 - result : result;
}

export const normalCdf = (z: number): number => 0.5 * erfc(-z * Math.SQRT1_2);

export const normalDensity = (z: number): number => Math.exp(-0.5 * z * z) * 0.3989422804014326779;

/** z with normalCdf(z) = probability, error below 1e-9. Throws RangeError outside of (0, 1). */
export function normalQuantile(probability: number): number {
  if (!(probability > 0 && probability < 1)) throw new RangeError(`a quantile of ${probability} is not in (0, 1)`);
  let [low, high] = [-39, 39];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
