// Effect of a domain: arm i is better there by v_d + v_id (docs/design/routing.md, The domain's
// mean). They are features that are 1 in their domain, solved with all other weights.
import type { Posterior, Prediction } from "./bandit.ts";
import type { ArmSums, Hierarchy, SolvedHierarchy } from "./hierarchy.ts";
import { inverse } from "../numeric/symmetric.ts";
import { cholesky, dot, packedIndex, packedLength, type Numbers } from "../numeric/matrix.ts";

/** Sums over the rewarded decisions of one arm in one domain, weighted by w. */
export interface DomainSums {
  /** Sum of w x. */
  x: Numbers;
  weight: number;
  /** Sum of w r. */
  rewardSum: number;
}

/** By how much an arm's quality in a domain differs from elsewhere. */
export interface DomainShift {
  mean: number;
  variance: number;
  /** With each of the arm's weights. */
  covariance: Numbers;
}

/** A domain has to show that it differs: its variance starts at .1^2 (docs/design/routing.md). */
const ownVariance = 0.01;
const pull = { towards: 0.0005, weight: 0.3 };
/** What is common to all arms decides nothing between them. */
const sharedVariance = 0.0001;

export interface WithDomains {
  arms: ArmSums[];
  hierarchy: Hierarchy;
}

/** The same arms with a feature a domain; domains[i]: of arm i, by the index of the domain. */
export function withDomains(
  arms: readonly ArmSums[],
  domains: readonly (readonly (DomainSums | undefined)[])[],
  count: number,
  hierarchy: Hierarchy,
): WithDomains {
  const { mean, groups, variances, pulls } = hierarchy;
  const n = mean.length;
  const group = variances.own.length;
  return {
    arms: arms.map((arm, i) => {
      const a = new Float64Array(packedLength(n + count));
      a.set(Array.from(arm.a));
      const b = new Float64Array(n + count);
      b.set(Array.from(arm.b));
      for (let d = 0; d < count; d++) {
        const sums = domains[i]?.[d];
        if (sums === undefined) continue;
        if (sums.x.length !== n) throw new RangeError(`a domain's sums of ${sums.x.length} features, not ${n}`);
        a.set(Array.from(sums.x), packedIndex(n + d, 0));
        a[packedIndex(n + d, n + d)] = sums.weight;
        b[n + d] = sums.rewardSum;
      }
      return { ...arm, a, b };
    }),
    hierarchy: {
      mean: Float64Array.from({ length: n + count }, (_, k) => (k < n ? mean[k]! : 0)),
      groups: [...groups, ...Array.from({ length: count }, () => group)],
      variances: {
        shared: [...variances.shared, sharedVariance],
        own: [...variances.own, ownVariance],
        noise: variances.noise,
      },
      pulls: { ...pulls, [group]: pull },
    },
  };
}

export interface Separated<P> {
  /** Posterior of the first n weights, which apply where no domain is known. */
  posterior: P;
  shifts: DomainShift[];
}

/** Posteriors of the arms and of an unknown one, as withDomains() had them solved, taken apart. */
export const separateDomains = ({ arms, unknown }: SolvedHierarchy, n: number) => ({
  arms: arms.map((arm) => separate(arm, n)),
  unknown: separate(unknown, n),
});

function separate({ mean, factor }: Posterior, n: number): Separated<Posterior> {
  const covariance = inverse(factor, mean.length);
  return {
    posterior: {
      mean: Float64Array.from({ length: n }, (_, k) => mean[k]!),
      factor: cholesky(inverse(cholesky(covariance.subarray(0, packedLength(n))), n)),
    },
    shifts: Array.from({ length: mean.length - n }, (_, d) => ({
      mean: mean[n + d]!,
      variance: covariance[packedIndex(n + d, n + d)]!,
      covariance: covariance.slice(packedIndex(n + d, 0), packedIndex(n + d, n)),
    })),
  };
}

/** The quality predicted for x in the domain of the shift. */
export function shifted({ mean, deviation }: Prediction, shift: DomainShift, x: Numbers): Prediction {
  // Comparisons may have made the weights surer than the covariance knows.
  const variance = deviation * deviation + 2 * dot(shift.covariance, x) + shift.variance;
  return { mean: mean + shift.mean, deviation: Math.sqrt(Math.max(0, variance)) };
}
