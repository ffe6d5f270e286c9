// A pipeline as a value: what it declares to read and write, its operators in order. It is a
// composition and holds no logic; the same value is run (processor.ts), described (`precedent
// topology`) and tested. An operator that emits to an output which is not declared does not
// compile.
//   pipeline()
//     .declare({ name: "plan", sources: ["requests"], tables: [...], outputs: [...] }, contract)
//     .step("validate", createValidate)
//     .end()
import type { RecordOf, TopicName } from "../schemas/records.ts";
import type { Declaration, StageDescription } from "./declaration.ts";
import type { Emit, Ending, Outcome, Position, Received, Step, StepContext } from "./step.ts";

/** What a source owes its readers when no operator produced the answer. */
export interface SourceContract<N extends TopicName, O extends TopicName = TopicName> {
  /** How far back a producer's timestamp is believed, ms; absent: as of a client. */
  toleranceMs?: number;
  /** Milliseconds since the epoch after which the result is no longer needed. */
  deadline(received: Received<RecordOf[N]>): number;
  /** Whose a dead letter is, where the record's position says it; absent: no account. */
  tenantOf?(position: Position): string | undefined;
  id(received: Received<RecordOf[N]>): string;
  /** The final response that is owed when the record is refused or fails. */
  answer(received: Received<RecordOf[N]>, problem: Problem): Emit<O>[];
  /**
   * What is emitted whatever becomes of the record, such as changes of the stage's own state, which
   * is restored from them. A step that passes a record on emits nothing by itself. Absent: nothing.
   */
  always?(received: Received<RecordOf[N]>): Emit<O>[];
}

export interface Problem {
  status: "refused" | "failed";
  code: string;
  message: string;
  /** The record repeats another, whose response is not this one. */
  repeat?: boolean;
}

/** One source, and outputs that end with where everything goes that can't be processed. */
export interface PipelineDeclaration extends Declaration {
  readonly sources: readonly [TopicName];
  readonly outputs: readonly [...TopicName[], "dead-letters"];
}
type SourceOf<D extends PipelineDeclaration> = D["sources"][0];
type OutputOf<D extends PipelineDeclaration> = D["outputs"][number];

/** Everything known about a pipeline without running it. */
export interface PipelineDescription<N extends TopicName = TopicName> extends StageDescription {
  readonly sources: readonly [N];
  readonly outputs: readonly TopicName[];
}

export interface BoundPipeline<N extends TopicName> {
  description: PipelineDescription<N>;
  contract: SourceContract<N>;
  /** observe: called with each operator's name and milliseconds. */
  run(
    received: Received<RecordOf[N]>,
    context: StepContext,
    retry: Retry,
    observe: Observe,
  ): Promise<Ending<Emitting, TopicName>>;
}

export interface Emitting<O extends TopicName = TopicName> {
  emits: Emit<O>[];
}
export type Observe = (operator: string, milliseconds: number) => void;
/** Runs a step until it ends otherwise than with retryLater. Synchronous where the step is. */
export type Retry = <T, O extends TopicName>(
  attempt: () => Outcome<T, O> | Promise<Outcome<T, O>>,
) => Ending<T, O> | Promise<Ending<T, O>>;

export type PipelineDefinition<Dependencies, D extends PipelineDeclaration> = D & {
  readonly operators: readonly string[];
  bind(dependencies: Dependencies): BoundPipeline<SourceOf<D>>;
};

type AnyStep = Step<unknown, unknown, TopicName>;
type Factory<Dependencies> = (dependencies: Dependencies) => AnyStep;

export interface Composition<Dependencies, D extends PipelineDeclaration, Value> {
  /** The value must have what the step needs; later steps see what it adds. */
  step<Adds, Own>(
    operator: string,
    create: (dependencies: Own) => Step<Value, Adds, OutputOf<D>>,
  ): Composition<Dependencies & Own, D, Value & Adds>;
  /** Only possible once a step has produced what to emit, to declared outputs. */
  end: Value extends Emitting<OutputOf<D>> ? () => PipelineDefinition<Dependencies, D> : never;
}

export function pipeline(): {
  declare<const D extends PipelineDeclaration, Dependencies>(
    declaration: D,
    contract: (dependencies: Dependencies) => SourceContract<SourceOf<D>, OutputOf<D>>,
  ): Composition<Dependencies, D, Received<RecordOf[SourceOf<D>]>>;
} {
  return {
    declare: (declaration, contract) => compose(declaration, contract, []),
  };
}

function compose<Dependencies, D extends PipelineDeclaration, Value>(
  declaration: D,
  contract: (dependencies: Dependencies) => SourceContract<SourceOf<D>>,
  steps: readonly { operator: string; create: Factory<Dependencies> }[],
): Composition<Dependencies, D, Value> {
  const end = (): PipelineDefinition<Dependencies, D> => {
    const described = { ...declaration, operators: steps.map(({ operator }) => operator) };
    return {
      ...described,
      bind: (dependencies) => ({
        description: described,
        contract: contract(dependencies),
        run: runner(steps.map(({ operator, create }) => ({ operator, step: create(dependencies) }))),
      }),
    };
  };
  return {
    step: (operator, create) =>
      // The chain of step() calls is checked by their types; the list of them can't be.
      compose(declaration, contract, [...steps, { operator, create: create as unknown as Factory<Dependencies> }]),
    end: end as Composition<Dependencies, D, Value>["end"],
  };
}

function runner<N extends TopicName>(steps: readonly { operator: string; step: AnyStep }[]): BoundPipeline<N>["run"] {
  return async (received, context, retry, observe) => {
    let value: unknown = received;
    for (const { operator, step } of steps) {
      const began = performance.now();
      const ending = retry(() => step(value, context));
      const outcome = ending instanceof Promise ? await ending : ending;
      const ms = performance.now() - began;
      context.timings.push({ operator, ms });
      observe(operator, ms);
      if (outcome.kind !== "ok") return outcome;
      value = outcome.value;
    }
    return { kind: "ok", value: value as Emitting };
  };
}
