// A pipeline as a value: where it reads, its operators in order, what it writes. It is a composition and holds no logic; the
// same value is run (processor.ts), described (`precedent topology`) and tested.
//
//   pipeline<PlanDependencies>("plan").from("requests", contract).step("validate", createValidate)....to("work", "decisions")
import type { RecordOf, TopicName } from "../schemas/records.ts";
import type { Emit, Outcome, Received, Step, StepContext } from "./step.ts";

/** What a source owes its readers when no operator produced the answer. */
export interface SourceContract<N extends TopicName> {
  /** How far back a timestamp that the producer made is believed, in milliseconds; absent: as of a client. */
  toleranceMs?: number;
  /** Milliseconds since the epoch after which nobody needs the result. */
  deadline(received: Received<RecordOf[N]>): number;
  /** Identity for logs. */
  id(received: Received<RecordOf[N]>): string;
  /** The final response that is owed when the record is refused or fails. */
  answer(received: Received<RecordOf[N]>, problem: Problem): Emit[];
}

export interface Problem {
  status: "refused" | "failed";
  code: string;
  message: string;
  /** The record repeats another, whose response is not this one. */
  repeat?: boolean;
}

/** Everything known about a pipeline without running it. */
export interface PipelineDescription {
  name: string;
  source: TopicName;
  operators: readonly string[];
  outputs: readonly TopicName[];
}

/** A pipeline whose operators have their dependencies. */
export interface BoundPipeline<N extends TopicName> {
  description: PipelineDescription & { source: N };
  contract: SourceContract<N>;
  /** observe: called with each operator's name and milliseconds. */
  run(
    received: Received<RecordOf[N]>,
    context: StepContext,
    retry: Retry,
    observe: Observe,
  ): Promise<Outcome<Emitting>>;
}

export interface Emitting {
  emits: Emit[];
}
export type Observe = (operator: string, milliseconds: number) => void;
/** Runs a step until it ends otherwise than with retryLater. */
export type Retry = <T>(attempt: () => Outcome<T> | Promise<Outcome<T>>) => Promise<Outcome<T>>;

export interface PipelineDefinition<Dependencies, N extends TopicName> extends PipelineDescription {
  source: N;
  bind(dependencies: Dependencies): BoundPipeline<N>;
}

type AnyStep = Step<unknown, unknown>;
type Factory<Dependencies> = (dependencies: Dependencies) => AnyStep;

export interface Composition<Dependencies, N extends TopicName, Value> {
  step<Out>(
    operator: string,
    create: (dependencies: Dependencies) => Step<Value, Out>,
  ): Composition<Dependencies, N, Out>;
  /** Ends the composition; only possible once a step has produced what to emit. */
  to(...outputs: Value extends Emitting ? TopicName[] : never): PipelineDefinition<Dependencies, N>;
}

export function pipeline<Dependencies>(name: string): {
  from<N extends TopicName>(
    source: N,
    contract: (dependencies: Dependencies) => SourceContract<N>,
  ): Composition<Dependencies, N, Received<RecordOf[N]>>;
} {
  return {
    from(source, contract) {
      return compose(name, source, contract, []);
    },
  };
}

function compose<Dependencies, N extends TopicName, Value>(
  name: string,
  source: N,
  contract: (dependencies: Dependencies) => SourceContract<N>,
  steps: readonly { operator: string; create: Factory<Dependencies> }[],
): Composition<Dependencies, N, Value> {
  return {
    step: (operator, create) =>
      // The chain of step() calls is checked by their types; the list of them can't be.
      compose(name, source, contract, [...steps, { operator, create: create as unknown as Factory<Dependencies> }]),
    to: (...outputs) => {
      const description = { name, source, operators: steps.map(({ operator }) => operator), outputs };
      return {
        ...description,
        bind: (dependencies) => ({
          description,
          contract: contract(dependencies),
          run: runner(steps.map(({ operator, create }) => ({ operator, step: create(dependencies) }))),
        }),
      };
    },
  };
}

function runner<N extends TopicName>(steps: readonly { operator: string; step: AnyStep }[]): BoundPipeline<N>["run"] {
  return async (received, context, retry, observe) => {
    let value: unknown = received;
    for (const { operator, step } of steps) {
      const began = performance.now();
      const outcome = await retry(() => step(value, context));
      const ms = performance.now() - began;
      context.timings.push({ operator, ms });
      observe(operator, ms);
      if (outcome.kind !== "ok") return outcome;
      value = outcome.value;
    }
    return { kind: "ok", value: value as Emitting };
  };
}
