// Selects the examples of each arm. Needs embed before it. Stays in its domain and never fails:
// without vector, index or model it goes on with less (`degraded`).
import { ok, type Step } from "../../runtime/step.ts";
import type { ExampleTrial } from "../../schemas/types.ts";
import type { DrawnOrder } from "../../algorithms/selection/example-order.ts";
import type { Embedded, Selected, SelectedExample } from "../flow.ts";
import { createSelection } from "./selection.ts";
import type { Asked, Selection, SelectionDependencies } from "./selection-types.ts";

type Needs = Asked & Pick<Embedded, "degraded">;
type Adds = Omit<Selected, keyof Embedded>;

export interface SelectDependencies extends SelectionDependencies {
  onSelection?: (selection: Selection) => void;
}

export function createSelect(dependencies: SelectDependencies): Step<Needs, Adds> {
  const choose = createSelection(dependencies);
  return async function select(input, context) {
    const selection = await choose(input, context);
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
      degraded: [...input.degraded, ...selection.degraded],
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
