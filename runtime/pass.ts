// A pass as a value: what a stage without records of its own does again and again
// (runtime/repeat.ts), as a list of named steps. Each step is given what those before it have found
// and returns what it adds. The pass holds no state but its steps' own and may break off after any
// of them, by a rejection: then it is done again from the first.
//   pass<CurateDependencies>()
//     .step("find", ({ candidates }) => candidates)
//     .step("admit", ({ decide }) => ({ candidates }) => decide(candidates))
//     .end()
/** What every pass is bound with, beside what its steps need. */
export interface PassContext {
  observe: (operator: string, milliseconds: number) => void;
  now?: () => number;
}

/** What a step adds; nothing is an empty object. */
type Adds = object | void;
/** Given what is found so far. */
export type PassStep<Needs, A extends Adds> = (found: Needs) => A | Promise<A>;
type Found<Value, A> = A extends object ? Value & A : Value;

export interface PassDefinition<Dependencies, Value> {
  readonly operators: readonly string[];
  bind(dependencies: Dependencies & PassContext): () => Promise<Value>;
}

export interface PassComposition<Dependencies, Value> {
  step<A extends Adds>(
    operator: string,
    create: (dependencies: Dependencies) => PassStep<Value, A>,
  ): PassComposition<Dependencies, Found<Value, A>>;
  /** A step that is due after so many milliseconds; `idle`: what it adds otherwise. */
  every<A extends object>(
    operator: string,
    milliseconds: (dependencies: Dependencies) => number,
    idle: A,
    create: (dependencies: Dependencies) => PassStep<Value, A>,
  ): PassComposition<Dependencies, Value & A>;
  end(): PassDefinition<Dependencies, Value>;
}

export function pass<Dependencies>(): PassComposition<Dependencies, object> {
  return compose<Dependencies, object>([]);
}

type AnyStep = PassStep<object, Adds>;
interface Named<Dependencies> {
  operator: string;
  create: (dependencies: Dependencies & PassContext) => AnyStep;
}

function compose<Dependencies, Value>(steps: readonly Named<Dependencies>[]): PassComposition<Dependencies, Value> {
  // The chain of calls is checked by their types; the list of steps can't be.
  const and = <V>(operator: string, create: unknown): PassComposition<Dependencies, V> =>
    compose<Dependencies, V>([...steps, { operator, create: create as Named<Dependencies>["create"] }]);
  return {
    step: (operator, create) =>
      and(operator, (dependencies: Dependencies & PassContext) =>
        timed(operator, dependencies, create(dependencies) as AnyStep),
      ),
    every: (operator, milliseconds, idle, create) =>
      and(operator, (dependencies: Dependencies & PassContext) => {
        const step = timed(operator, dependencies, create(dependencies) as AnyStep);
        return whenDue(step, idle, milliseconds(dependencies), dependencies.now ?? monotonic);
      }),
    end: () => ({
      operators: steps.map(({ operator }) => operator),
      bind(dependencies) {
        const bound = steps.map(({ create }) => create(dependencies));
        return async () => {
          let found = {};
          for (const step of bound) found = { ...found, ...(await step(found)) };
          return found as Value;
        };
      },
    }),
  };
}

const monotonic = (): number => performance.now();

const timed =
  (operator: string, { observe, now = monotonic }: PassContext, step: AnyStep): AnyStep =>
  async (found) => {
    const began = now();
    const adds = await step(found);
    observe(operator, now() - began);
    return adds;
  };

function whenDue(step: AnyStep, idle: object, everyMs: number, now: () => number): AnyStep {
  let doneAt = -Infinity;
  return async (found) => {
    if (now() - doneAt < everyMs) return idle;
    const adds = await step(found);
    doneAt = now();
    return adds;
  };
}
