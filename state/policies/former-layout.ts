// Converts router policies of the previous layout: new features come after the others, and
// their weights get the prior. Routing uses them until learn publishes one of the new layout.
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { packedIndex, packedLength } from "../../algorithms/numeric/matrix.ts";

/** Version 3 added the form of the request. */
export const formerLayout = { featureVersion: 2, dimension: 36 };

interface PosteriorBody {
  mean: number[];
  factor: number[];
}
interface Shift {
  covariance: number[];
}
interface BeliefsBody<A extends PosteriorBody> {
  arms: Record<string, A>;
  prior?: PosteriorBody | undefined;
}
export interface RouterBody<A extends PosteriorBody, S extends Shift> extends BeliefsBody<A> {
  dimension: number;
  tenants?: Record<string, BeliefsBody<A>> | undefined;
  domains?: Record<string, { arms: Record<string, S>; prior: S }> | undefined;
}

/** Variance of a new feature's weight: the prior's. */
const variance = 0.04;

/** Converts a valid body of the former layout to the current one. */
export function widenedBody<A extends PosteriorBody, S extends Shift>(body: RouterBody<A, S>): RouterBody<A, S> {
  const { tenants, domains, ...shared } = body;
  const shift = (one: S): S => ({ ...one, covariance: padded(one.covariance) });
  return {
    ...widenedBeliefs(shared),
    dimension: FEATURE_COUNT,
    ...(tenants && { tenants: each(tenants, widenedBeliefs) }),
    ...(domains && { domains: each(domains, ({ arms, prior }) => ({ arms: each(arms, shift), prior: shift(prior) })) }),
  };
}

const widenedBeliefs = <A extends PosteriorBody>({ arms, prior }: BeliefsBody<A>): BeliefsBody<A> => ({
  arms: each(arms, widened),
  ...(prior && { prior: widened(prior) }),
});

function widened<P extends PosteriorBody>(posterior: P): P {
  const added = packedLength(FEATURE_COUNT) - posterior.factor.length;
  const factor = [...posterior.factor, ...Array<number>(added).fill(0)];
  for (let k = formerLayout.dimension; k < FEATURE_COUNT; k++) factor[packedIndex(k, k)] = 1 / Math.sqrt(variance);
  return { ...posterior, mean: padded(posterior.mean), factor };
}

const padded = (numbers: readonly number[]): number[] => [
  ...numbers,
  ...Array<number>(FEATURE_COUNT - numbers.length).fill(0),
];

const each = <V, W>(values: Record<string, V>, change: (value: V) => W): Record<string, W> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
