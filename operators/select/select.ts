// Selects the examples of each arm. Needs embed before it. Stays in its domain and never fails:
// without vector, index or model it goes on with less (`degraded`).
import { nothingShared } from "../../algorithms/selection/shared-domains.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { ExampleTrial } from "../../schemas/types.ts";
import type { DrawnOrder } from "../../algorithms/selection/example-order.ts";
import type { Embedded, Selected, SelectedExample } from "../flow.ts";
import { createSelection, type Asked, type Selection, type SelectionDependencies } from "./selection.ts";

type Needs = Asked & Pick<Embedded, "position" | "degraded">;
type Adds = Omit<Selected, keyof Embedded>;

export interface WholeAt {
  /** This process holds all partitions of the examples. */
  topic: boolean;
  /** All examples of the domain are in the partition that matches the requests' partition. */
  partition: boolean;
}

export interface SelectDependencies extends SelectionDependencies {
  /** Where this request partition finds all of a domain's examples; default: here. */
  wholeAt?: (domain: string, requestPartition: number) => WholeAt;
  onSelection?: (selection: Selection) => void;
}

export function createSelect(dependencies: SelectDependencies): Step<Needs, Adds> {
  const choose = createSelection(dependencies);
  const { wholeAt = () => ({ topic: true, partition: false }), sharing = nothingShared } = dependencies;
  return async function select(input, context) {
    const domains = [input.domain, sharing.sharedDomainOf(input.domain)].filter((domain) => domain !== null);
    const whole = (): WholeAt[] => domains.map((domain) => wholeAt(domain, input.position.partition));
    // Checked before and after: examples that arrive during the search are not searched, and those
    // that leave may have been missed.
    const before = whole();
    const selection = await choose(input, context);
    const after = whole();
    const isComplete = before.every(
      ({ topic, partition }, i) => (topic && after[i]!.topic) || (partition && after[i]!.partition),
    );
    const lacking = isComplete ? [] : ["examples_incomplete"];
    dependencies.onSelection?.(selection);
    const { byArm, threshold, exploredThreshold, helpfulnessVersion, nearMiss } = selection;
    const examplesByArm = new Map<string, SelectedExample[]>();
    const orderByArm = new Map<string, DrawnOrder>();
    const trialByArm = new Map<string, ExampleTrial>();
    for (const [arm, { examples, order, trial }] of byArm) {
      examplesByArm.set(arm, examples);
      orderByArm.set(arm, order);
      if (trial !== null) trialByArm.set(arm, trial);
    }
    return ok({
      ...input,
      degraded: [...input.degraded, ...lacking, ...selection.degraded],
      examplesByArm,
      orderByArm,
      trialByArm,
      threshold,
      exploredThreshold,
      helpfulnessVersion,
      nearMiss,
    });
  };
}
