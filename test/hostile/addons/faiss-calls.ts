// Child: seeded calls of every export of the FAISS addon, then a proof that it still searches
// right. Arguments: addon file, folder, seed, calls.
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Native, NativeIndex } from "../../../state/vectors/native.ts";
import { createOutcomes, createRandom, oddValue, spoil } from "./values.ts";

const [file = "", folder = "", seed = "", calls = ""] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(file) as Native;
// Some of the odd values are file names.
process.chdir(folder);
const random = createRandom(Number(seed));
const outcomes = createOutcomes();
const dimension = 8;

const keys = (): Uint32Array => Uint32Array.from({ length: random(40) }, () => random(500));
const vectors = (count: number): Float32Array => {
  const kind = random(4);
  return Float32Array.from({ length: count * dimension }, (_, i) => {
    if (kind === 0) return 0;
    if (kind === 1) return i % dimension === 0 ? 1 : 0;
    return random(2_000) / 1_000 - 1;
  });
};
const add = (): [Uint32Array, Float32Array] => {
  const added = keys();
  return [added, vectors(added.length)];
};
const snapshot = (): string => join(folder, `fuzz-${random(3)}.index`);

type Arguments = () => unknown[];
const methods: readonly (readonly [keyof NativeIndex, Arguments])[] = [
  ["add", add],
  ["add", add],
  ["remove", () => [keys()]],
  ["search", () => [vectors(1 + random(3)), random(20), random(10)]],
  ["search", () => [vectors(1), 1 + random(600), 1]],
  ["probe", () => [vectors(1), random(20)]],
  ["sample", () => [random(100)]],
  ["rebuild", () => [random(30), 1 + random(64), 1 + random(4), random(1_000)]],
  ["save", () => [snapshot(), "note"]],
  ["restore", () => [snapshot()]],
  ["size", () => []],
  ["lists", () => []],
  ["bytes", () => []],
];

const open = (): NativeIndex => new addon.Index(dimension);
/** The first stays dropped once it was. */
const indexes = [open(), open(), open(), open()];

for (let i = 0; i < Number(calls); i++) {
  const at = random(indexes.length);
  const index = indexes[at]!;
  const kind = random(100);
  if (kind === 0) {
    index.drop();
    index.drop();
    if (at > 0) indexes[at] = open();
  } else if (kind === 1) {
    const made = await outcomes.call(() => Reflect.construct(addon.Index, [oddValue(random)]) as NativeIndex, true);
    made?.drop();
  } else if (kind === 2) {
    addon.stopTraining();
    addon.useFastProducts(random(2) === 0);
  } else {
    const [name, given] = methods[random(methods.length)]!;
    const self: unknown = random(50) === 0 ? oddValue(random) : index;
    await outcomes.call(() => {
      const method: unknown = name in index ? Reflect.get(index, name) : undefined;
      return typeof method === "function" ? (Reflect.apply(method, self, spoil(random, given())) as unknown) : method;
    });
  }
}
await outcomes.settle();

const fresh = open();
const count = 2_000;
const rows = Float32Array.from({ length: count * dimension }, () => random(2_000) / 1_000 - 1);
await fresh.add(
  Uint32Array.from({ length: count }, (_, i) => i),
  rows,
);
await fresh.rebuild(45, 64, 5, 1);
let wrong = 0;
for (let i = 0; i < 100; i++) {
  const query = rows.subarray(i * dimension, (i + 1) * dimension);
  const { keys: found } = fresh.search(query, 1, 45);
  const product = (key: number): number =>
    query.reduce((sum, number, j) => sum + number * rows[key * dimension + j]!, 0);
  const best = Math.max(...Array.from({ length: count }, (_, key) => product(key)));
  if (Math.abs(product(found[0]!) - best) > 0.01) wrong++;
}
process.stdout.write(JSON.stringify({ ...outcomes.counts, wrong }));
