// Instruments belong to a registry, and two stages of one process share both.
import { Counter, Gauge, type Registry } from "prom-client";

export function oncePerRegistry<T>(make: (registry: Registry) => T): (registry: Registry) => T {
  const known = new WeakMap<Registry, { made: T }>();
  return (registry) => {
    const existing = known.get(registry);
    if (existing !== undefined) return existing.made;
    const made = make(registry);
    known.set(registry, { made });
    return made;
  };
}

export const gaugesOf =
  (registry: Registry) =>
  <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> => {
    const existing = registry.getSingleMetric(name);
    return existing instanceof Gauge ? existing : new Gauge({ name, help, labelNames, registers: [registry] });
  };

export const countersOf =
  (registry: Registry) =>
  <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] });
