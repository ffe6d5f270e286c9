// One native index in the worker: changes in turn, searches at any time, clusters built beside,
// probes chosen by comparing with exact searches (docs/design/selection.md, Stage 1).
import pLimit from "p-limit";
import { messageOf } from "../../connections/errors.ts";
import type { NativeFound, NativeIndex } from "./native.ts";
import type { IndexFigures } from "./port.ts";
import { chosenProbes, decideProbes, rebuildFor, recallOf, type IndexOptions, type ProbesDecision } from "./tuning.ts";

export type ManagedIndex = ReturnType<typeof createManagedIndex>;

export interface ManagedDependencies {
  dimension: number;
  options: IndexOptions;
  random: () => number;
  /** Runs one build at a time, over all indexes: each takes a core. */
  oneBuild: <T>(build: () => Promise<T>) => Promise<T>;
  /** After every change of what figures() gives. */
  onFigures: (figures: IndexFigures) => void;
  onProblem: (problem: string) => void;
}

/** What a file says beside the vectors. */
interface Saved {
  note: string;
  trainedSize: number;
  probes: number;
}

const rememberedProbes = 200;
/** Stored vectors after which a new index has its first number of probes. */
const firstCalibration = 64;
/** Neighbours compared; more are rarely asked for, and tell nothing new. */
const comparedNeighbours = 64;

export function createManagedIndex(native: NativeIndex, deps: ManagedDependencies, saved?: Saved) {
  const { dimension, options } = deps;
  let trainedSize = saved?.trainedSize ?? 0;
  let probes = Math.max(options.leastProbes, saved?.probes ?? 1);
  let ranks: Uint32Array[] = [];
  let recallSum = 0;
  let recallSamples = 0;
  let swaps = 0;
  let building = false;
  let probing = false;
  let dropped = false;
  const inTurn = pLimit(1);
  /** After a failed build the next is tried when the size is another by a tenth. */
  let failedSize: number | null = null;

  const figures = (): IndexFigures => {
    const lists = dropped ? 0 : native.lists;
    return {
      kind: lists === 0 ? "exact" : "ivf",
      size: dropped ? 0 : native.size,
      lists,
      probes: lists === 0 ? 0 : probes,
      recall: recallSamples === 0 ? null : recallSum / recallSamples,
      recallSamples,
      building,
      swaps,
    };
  };
  const tell = (): void => deps.onFigures(figures());

  function setProbes(wanted: number): void {
    probes = Math.max(options.leastProbes, wanted);
    recallSum = 0;
    recallSamples = 0;
    tell();
  }

  function review(): void {
    if (building || dropped) return;
    const size = native.size;
    if (failedSize !== null && Math.abs(size - failedSize) <= failedSize / 10) return;
    const lists = rebuildFor({ size, lists: native.lists, trainedSize }, options);
    if (lists !== null) void build(lists);
  }

  async function build(lists: number): Promise<void> {
    building = true;
    tell();
    try {
      await deps.oneBuild(async () => {
        if (dropped) return;
        const size = native.size;
        // Wide at first; calibrating finds how many it really takes. Said before the swap when
        // nothing is clustered yet: a search may come between it and the next line here.
        const wide = options.calibrationQueries === 0 ? 1 : Math.max(8, Math.ceil(lists / 32));
        if (native.lists === 0) setProbes(wide);
        await native.rebuild(lists, options.pointsPerList, options.iterations, 1 + swaps);
        trainedSize = Math.max(1, size);
        swaps++;
        ranks = [];
        setProbes(wide);
        if (native.lists > 0 && options.calibrationQueries > 0) await calibrate();
      });
      failedSize = null;
    } catch (error) {
      if (dropped) return;
      failedSize = native.size;
      deps.onProblem(`the clusters could not be built, the old index goes on: ${messageOf(error)}`);
    } finally {
      building = false;
    }
    // Another build may follow at once: listeners must not see an idle index between the two.
    review();
    if (!building && !dropped) tell();
  }

  /** Stored vectors as queries, on a thread of its own: searches go on. */
  async function calibrate(): Promise<void> {
    const tried = await native.sample(options.calibrationQueries);
    const found: Uint32Array[] = [];
    for (let at = 0; at + dimension <= tried.length && !dropped; at += dimension) {
      const { ranks } = await native.probe(tried.subarray(at, at + dimension), 1 + 32);
      found.push(ranks.subarray(1));
      // At a million the rest takes seconds: until then a wider margin will do.
      if (found.length === firstCalibration) setProbes(chosenProbes(found, native.lists, options));
    }
    if (found.length > 0 && !dropped) setProbes(chosenProbes(found, native.lists, options));
  }

  async function compare(query: Float32Array, k: number): Promise<void> {
    probing = true;
    try {
      const [of, swapsBefore] = [probes, swaps];
      const { ranks: found } = await native.probe(query, Math.min(k, comparedNeighbours));
      if (dropped || found.length === 0 || swaps !== swapsBefore) return;
      ranks.push(found);
      if (ranks.length > rememberedProbes) ranks.shift();
      if (of === probes) {
        recallSum += recallOf(found, probes);
        recallSamples++;
      }
      act(decideProbes({ ranks, probes, lists: native.lists, size: native.size, trainedSize }, options));
      tell();
    } catch (error) {
      if (!dropped) deps.onProblem(`a search could not be compared with an exact one: ${messageOf(error)}`);
    } finally {
      probing = false;
    }
  }

  function act(decision: ProbesDecision): void {
    if (decision.kind === "probes") setProbes(decision.probes);
    if (decision.kind === "rebuild" && !building) void build(Math.ceil(Math.sqrt(native.size)));
  }

  const changed = (): number => {
    review();
    tell();
    return native.size;
  };
  return {
    /** Gives the new size, as remove does. */
    add: (keys: Uint32Array, vectors: Float32Array): Promise<number> =>
      inTurn(() => native.add(keys, vectors).then(changed)),
    remove: (keys: Uint32Array): Promise<number> => inTurn(() => native.remove(keys).then(changed)),
    search(queries: Float32Array, k: number): NativeFound {
      const found = native.search(queries, k, probes);
      for (let at = 0; at < queries.length && k > 0; at += dimension)
        if (!probing && deps.random() < options.probeShare && native.lists > 0)
          void compare(queries.slice(at, at + dimension), k);
      return found;
    },
    figures,
    save: (file: string, note: string): Promise<void> =>
      inTurn(() => native.save(file, JSON.stringify({ note, trainedSize, probes } satisfies Saved))),
    /** Ends with what is under way. */
    drop: (): Promise<void> =>
      inTurn(async () => {
        dropped = true;
        native.drop();
      }),
  };
}

/** Rejects when the file is missing, changed, or of another version or dimension. */
export async function restoreManagedIndex(
  native: NativeIndex,
  file: string,
  deps: ManagedDependencies,
): Promise<{ index: ManagedIndex; note: string }> {
  // Its checksum was right, so it is what save() wrote.
  const saved = JSON.parse(await native.restore(file)) as Saved;
  return { index: createManagedIndex(native, deps, saved), note: saved.note };
}
