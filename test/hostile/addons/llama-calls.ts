// Child: seeded calls of every export of the llama addon. Every accepted job must end exactly once,
// and a fresh context must generate as before. Arguments: addon file, model, backends, seed, calls.
import { createRequire } from "node:module";
import type {
  Native,
  NativeContext,
  NativeContextOptions,
  NativeJob,
  NativeModel,
} from "../../../connections/llama/native.ts";
import { createOutcomes, createRandom, spoil, spoilField } from "./values.ts";

const [file = "", path = "", backends = "", seed = "", calls = ""] = process.argv.slice(2);
/** The export for research, which serving does not use (bench/linked/research/scorer.ts). */
interface Scorer extends Record<"attention" | "deviations", (question: unknown) => Promise<unknown>> {
  close(): void;
}
type Addon = Native & {
  createScorer(
    model: NativeModel,
    options: Omit<NativeContextOptions, "partTokens" | "mostWaiting" | "pieceBytes" | "contexts">,
  ): Promise<Scorer>;
};
const addon = createRequire(import.meta.url)(file) as Addon;
const random = createRandom(Number(seed));
const outcomes = createOutcomes();
let accepted = 0;
let ended = 0;

const onCpu = { device: "cpu", gpuLayers: -1, backends, libraries: [] as string[] };
const input = () => ({ path, fingerprint: new Uint8Array(32), ...onCpu });
const options = (): NativeContextOptions => ({
  ...{ contextTokens: 256, sequences: 1 + random(3), threads: 1, flashAttention: random(2) === 0 },
  ...{
    kvType: ["f16", "f32"][random(2)]!,
    batchTokens: 64,
    partTokens: 32,
    mostWaiting: 8,
    pieceBytes: 1 + random(9_999),
    contexts: 1 + random(2),
  },
});
const model = await addon.loadModel(input());
const tokens = model.tokenize("Every call of the addon comes back with a result or an error.", false);
const job = (more: Partial<NativeJob> = {}): NativeJob => ({
  ...{ tokens, links: [], recompute: new Int32Array(0), exports: new Int32Array(0), logitsAt: new Int32Array(0) },
  ...{ maxTokens: random(6), temperature: random(2), topP: 1, seed: 1, stops: [], progress: random(2) === 0 },
  ...more,
});
const finish = (context: NativeContext, wanted: NativeJob) =>
  new Promise<{ blobs: readonly Uint8Array[]; text: string }>((resolve, reject) => {
    context.run(
      wanted,
      () => undefined,
      (failure, result) => (result === undefined ? reject(failure!) : resolve(result)),
    );
  });

const first = await addon.createContext(model, { ...options(), flashAttention: false, kvType: "f16" });
const greedy = job({ maxTokens: 6, temperature: 0, exports: Int32Array.of(0, 5) });
const { blobs, text } = await finish(first, greedy);
const blob = (): Uint8Array => {
  const copy = Uint8Array.from(blobs[0]!);
  if (random(2) === 0)
    new DataView(copy.buffer).setUint32(4 * random(40), [0, 2 ** 32 - 1, 2 ** 31, 256][random(4)]!, true);
  return random(5) === 0 ? copy.subarray(0, random(copy.length)) : copy;
};

const models: NativeModel[] = [model];
const contexts: NativeContext[] = [first];
const scorers: Scorer[] = [await addon.createScorer(model, options())];
const pick = <T>(all: readonly T[]): T => all[random(all.length)]!;
const keep = <T>(all: T[], one: T | undefined): void => {
  if (one === undefined) return;
  if (all.length < 4) all.push(one);
  else all[random(4)] = one;
};
const interfere = (): void => [() => pick(contexts).stop(), () => pick(models).close()][random(2)]!();

function run(): void {
  const given = blob();
  const linked = random(2) === 0 ? { links: [{ blob: given, position: random(3) === 0 ? random(9) : 0 }] } : {};
  const exporting = random(2) === 0 ? { exports: Int32Array.of(0, random(9)) } : {};
  let over = 0;
  const done = (): void => {
    if (over++ === 0) ended++;
    else ended = NaN;
  };
  const wanted = spoilField(random, job({ ...linked, ...exporting }), interfere);
  const [odd] = random(9) === 0 ? spoil(random, [wanted]) : [wanted];
  pick(contexts).run(odd as NativeJob, () => undefined, done);
  accepted++;
  if (random(4) === 0) structuredClone(given.buffer, { transfer: [given.buffer as ArrayBuffer] });
}

/** Ends one of them in one of all ways; another takes its place, mostly. */
async function end(): Promise<void> {
  const at = random(contexts.length);
  const context = contexts[at]!;
  const ways = [() => context.close(), () => context.stop(), () => context.close()];
  for (let i = 0; i <= random(3); i++) void outcomes.call(ways[random(3)]!);
  if (random(2) === 0) pick(models).close();
  if (random(2) === 0) pick(scorers).close();
  models[random(models.length)] = await addon.loadModel(input());
  const open = models.find((one) => isOpen(one))!;
  if (random(4) > 0) contexts[at] = await addon.createContext(open, options());
  scorers[0] = await addon.createScorer(open, options());
}

function isOpen(one: NativeModel): boolean {
  try {
    return one.isEnd(0) || true;
  } catch {
    return false;
  }
}

const ranges = () => ({
  starts: Int32Array.of(0, 1 + random(9)),
  layers: random(3),
  firstLayer: random(2),
  endLayer: 2,
});
/** A method that the other kind of handle has is called on it all the same. */
function apply(self: object, name: string, given: unknown[]): unknown {
  const owner = [self, ...models, ...contexts].find((one) => name in one)!;
  return Reflect.apply(Reflect.get(owner, name) as () => unknown, self, given);
}
const ask = (what: "attention" | "deviations"): Promise<unknown> => {
  const scorer = pick(scorers);
  const question = { tokens, links: [{ blob: blob(), position: 0 }], ...ranges() };
  return Reflect.apply(
    scorer[what],
    scorer,
    spoil(random, [spoilField(random, question, interfere)]),
  ) as Promise<unknown>;
};
const plain: readonly (() => unknown)[] = [
  () => addon.devices(...(spoil(random, [backends, []]) as [string, string[]])),
  () => addon.describeBlob(spoil(random, [blob()])[0] as Uint8Array),
  () => pick(models).facts(),
  () => apply(pick<object>([...models, ...contexts]), "rope", spoil(random, [256])),
  () => apply(pick(models), "tokenize", spoil(random, ["some text", false])),
  () => apply(pick(models), "detokenize", spoil(random, [tokens, true])),
  () => apply(pick(models), "isEnd", spoil(random, [1])),
  () => apply(pick(contexts), "cancel", spoil(random, [random(100)])),
  () => pick(contexts).format(),
  () => ask("attention"),
  () => ask("deviations"),
];

for (let i = 0; i < Number(calls); i++) {
  const kind = random(200);
  if (kind < 3) {
    const owner = pick<unknown>([...models, ...contexts]);
    const given = spoil(random, [owner, spoilField(random, options(), interfere)]);
    const made = outcomes.call(() => Reflect.apply(addon.createContext, addon, given) as Promise<NativeContext>, true);
    keep(contexts, await made);
  } else if (kind < 5) {
    const given = spoil(random, [spoilField(random, input(), interfere)]);
    const made = outcomes.call(() => Reflect.apply(addon.loadModel, addon, given) as Promise<NativeModel>, true);
    keep(models, await made);
  } else if (kind < 9) await end();
  else if (kind < 50) {
    await outcomes.call(run);
    if (random(4) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  } else await outcomes.call(pick(plain));
}
await outcomes.settle();
await Promise.all(contexts.map((context) => context.close()));
await new Promise((resolve) => setTimeout(resolve, 20));

const last = await addon.createContext(await addon.loadModel(input()), {
  ...options(),
  flashAttention: false,
  kvType: "f16",
});
const again = await finish(last, greedy);
process.stdout.write(
  JSON.stringify({ ...outcomes.counts, accepted, unfinished: accepted - ended, changed: again.text !== text }),
);
