// The one process (or thread) that owns FAISS. Indexes are made, changed, searched and tuned here
// (managed.ts); it knows of no examples.
import pLimit from "p-limit";
import { messageOf } from "../../connections/errors.ts";
import { serveCalls, workerInput } from "../../connections/worker/rpc.ts";
import { createManagedIndex, restoreManagedIndex, type ManagedDependencies, type ManagedIndex } from "./managed.ts";
import type { FaissInput, FaissMethods, WatchEvent } from "./methods.ts";
import { loadNative } from "./native.ts";

const { dimension, options } = workerInput<FaissInput>();
const native = loadNative();
const indexes = new Map<number, ManagedIndex>();
const oneBuild = pLimit(1);
let watcher: (event: WatchEvent) => void = () => undefined;

const depsOf = (index: number): ManagedDependencies => ({
  dimension,
  options,
  random: Math.random,
  oneBuild,
  onFigures: (figures) => watcher({ kind: "figures", index, figures }),
  onProblem: (problem) => watcher({ kind: "problem", index, problem }),
});

function find(number: number): ManagedIndex {
  const index = indexes.get(number);
  if (index === undefined) throw new Error(`there is no index ${number}`);
  return index;
}

serveCalls<FaissMethods>(
  {
    hello: () => ({ pid: process.pid, products: native.productsInUse() }),
    watch: (_, { emit, signal }) => {
      watcher = emit;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
    open(index) {
      indexes.set(index, createManagedIndex(new native.Index(dimension), depsOf(index)));
    },
    async restore({ index: number, file }) {
      try {
        const { index, note } = await restoreManagedIndex(new native.Index(dimension), file, depsOf(number));
        indexes.set(number, index);
        return { note, figures: index.figures() };
      } catch (error) {
        const why = messageOf(error);
        throw Object.assign(new Error(why), { code: "bad_snapshot" });
      }
    },
    async drop(number) {
      const index = indexes.get(number);
      indexes.delete(number);
      await index?.drop();
    },
    add: ({ index, keys, vectors }) => find(index).add(keys, vectors),
    remove: ({ index, keys }) => find(index).remove(keys),
    search: ({ index, queries, k }) => find(index).search(queries, k),
    save: ({ index, file, note }) => find(index).save(file, note),
  },
  () => native.stopTraining(),
);
