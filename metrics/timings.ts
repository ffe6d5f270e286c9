// A histogram with labels that are known once and observed often. prom-client sorts and joins the
// labels at every observation, and a record makes one for each of its steps; here a series is found
// once and then only counts. It is read like a histogram of prom-client.
import type { Metric, MetricObjectWithValues, MetricValue, Registry } from "prom-client";

export interface TimingsOptions<L extends string> {
  name: string;
  help: string;
  labelNames: readonly L[];
  /** Upper bounds, ascending; what is larger counts too. */
  buckets: readonly number[];
}

/** Counts one observation. */
export type Observe = (value: number) => void;

interface Series<L extends string> {
  labels: Record<L, string>;
  /** By bucket, each without those before it; the last one is what is larger than all. */
  counts: Float64Array;
  sum: number;
}

/** Of the same labels always the same series. */
export function createTimings<L extends string>(
  registry: Registry,
  { name, help, labelNames, buckets }: TimingsOptions<L>,
): (labels: Record<L, string>) => Observe {
  const series = new Map<string, Series<L>>();

  const valuesOf = ({ labels, counts, sum }: Series<L>): (MetricValue<string> & { metricName: string })[] => {
    let count = 0;
    const bounds = [...buckets, "+Inf"];
    const cumulated = bounds.map((le, index) => ({
      ...{ labels: { le, ...labels }, metricName: `${name}_bucket` },
      value: (count += counts[index]!),
    }));
    return [
      ...cumulated,
      { labels, metricName: `${name}_sum`, value: sum },
      { labels, metricName: `${name}_count`, value: count },
    ];
  };
  const metric = {
    ...{ name, help, type: "histogram", aggregator: "sum", labelNames },
    get: (): Promise<MetricObjectWithValues<MetricValue<string>>> =>
      Promise.resolve({ ...metric, values: [...series.values()].flatMap(valuesOf) } as never),
    reset: (): void => series.clear(),
  };
  registry.registerMetric(metric as unknown as Metric);

  const seriesOf = (labels: Record<L, string>): Series<L> => {
    const key = JSON.stringify(labelNames.map((label) => labels[label]));
    let known = series.get(key);
    if (known === undefined) {
      known = { labels, counts: new Float64Array(buckets.length + 1), sum: 0 };
      series.set(key, known);
    }
    return known;
  };

  return (labels) => {
    // Visible from its first observation on, as with prom-client.
    let own: Series<L> | undefined;
    return (value) => {
      if (!Number.isFinite(value)) throw new TypeError(`${name}: ${String(value)} is no observation`);
      own ??= seriesOf(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > buckets[bucket]!) bucket++;
      own.counts[bucket]!++;
      own.sum += value;
    };
  };
}
