// One request: prefilled in full, behind its longest common prefix, and linked under every
// convention and policy, one after the other, so that all of them share the machine's mood. Times
// are CPU milliseconds of this process, one thread, one request at a time.
import { tokensIn } from "../../algorithms/linked-prefill/link-plan.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { compareLogits } from "../../algorithms/text/teacher-forced.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import { lookAt, looks } from "./research/look.ts";
import { type KnownChunk, planCompared } from "./research/plan.ts";
import { comparedPolicy, controlOf } from "./research/policy.ts";
import type { LlamaContext, Prompt, RunResult } from "../../connections/llama/port.ts";
import type { LlamaScorer } from "../../connections/llama/scorer.ts";
import { rougeL } from "../support/rouge-l.ts";
import { type Convention, conventions, joined, makeCaches, type MadeCaches, withImpact } from "./caches.ts";
import type { Item } from "./prompts.ts";

export interface Outcome {
  /** Null where no chunk cache is used: full, prefix. */
  convention: Convention | null;
  policy: string;
  /** Share of the chunks' tokens that are computed, [0, 1]. */
  recomputed: number;
  /** Mean over the first tokens of the full prefill's answer, teacher-forced, nats. */
  kl: number;
  /** KL of the first token alone. */
  firstKl: number;
  rougeL: number;
  /** Null without references. */
  f1: number | null;
  /** Token F1 of this answer against the full prefill's. */
  f1WithFull: number;
  ttftMs: number;
  /** Until the whole answer is there. */
  cpuMs: number;
}

export interface Measured {
  tokens: number;
  outcomes: Outcome[];
}

export type Policies = Readonly<Partial<Record<Convention, readonly string[]>>>;

export interface Machine {
  context: LlamaContext;
  /** Opened when a policy asks for it. */
  scorer: () => Promise<LlamaScorer>;
  vocabulary: number;
  /** Whether requests are also prefilled behind the prefix that they share; default true. */
  prefix?: boolean;
  /** Times to the first token on the clock, as a device beside the CPU needs; default CPU time. */
  onClock?: boolean;
  signal: AbortSignal;
}

const comparedTokens = 8;

export async function measureItem(item: Item, policies: Policies, maxTokens: number, machine: Machine) {
  const { context, vocabulary, signal, prefix = true, onClock = false } = machine;
  const run = (prompt: Prompt): Promise<RunResult> => context.run(prompt, { signal });
  const { tokens, chunks, references } = item;
  const last = tokens.length - 1;
  const total = chunks.at(-1)?.end ?? 0;
  const f1Of = (text: string): number | null => (references.length === 0 ? null : bestTokenF1(text, references));

  const answering = async (prompt: Omit<Prompt, "tokens">) => {
    const before = process.cpuUsage();
    const result = await run({ ...prompt, tokens, maxTokens, stop: ["\n"], exports: [{ begin: 0, end: last }] });
    const { user, system } = process.cpuUsage(before);
    return {
      text: result.text.trim(),
      generated: result.generated,
      blob: result.blobs[0]!,
      ttftMs: onClock ? result.timings.firstMs : result.timings.cpuFirstMs,
      cpuMs: (user + system) / 1000 - result.timings.exportedMs,
    };
  };
  // The prompt's cache stands for its prefill: only the last token and the answer's are computed.
  const forced = async (blob: Uint8Array, answer: Int32Array): Promise<Float32Array> => {
    const reported = answer.subarray(0, comparedTokens);
    const { logits } = await run({
      tokens: joined([tokens, reported.subarray(0, -1)]),
      links: [{ blob, position: 0 }],
      logitsAt: Array.from(reported, (_, i) => last + i),
    });
    return logits;
  };

  const full = await answering({});
  // A model that says nothing at all still chose the end: its first token is compared.
  const answer = full.generated.length > 0 ? full.generated : Int32Array.of(0);
  const reference = await forced(full.blob, answer);
  const outcomeOf = async (
    named: Pick<Outcome, "convention" | "policy" | "recomputed">,
    given: Awaited<ReturnType<typeof answering>>,
    extraMs = 0,
  ): Promise<Outcome> => ({
    ...named,
    ...divergences(reference, await forced(given.blob, answer), vocabulary),
    rougeL: rougeL(given.text, full.text),
    f1: f1Of(given.text),
    f1WithFull: bestTokenF1(given.text, [full.text]),
    ttftMs: given.ttftMs + extraMs,
    cpuMs: given.cpuMs + extraMs,
  });
  const outcomes = [await outcomeOf({ convention: null, policy: "full", recomputed: 1 }, full)];

  const made: MadeCaches = new Map();
  for (const convention of conventions) {
    const names = policies[convention] ?? [];
    if (names.length === 0) continue;
    const caches = await makeCaches(item, convention, run, made);
    const links = caches.blobs.map((blob, i) => ({ blob, position: chunks[i]!.begin }));
    if (outcomes.length === 1 && prefix) {
      const behind = await answering({ links: links.slice(0, 1) });
      const recomputed = (total - chunks[0]!.end) / total;
      outcomes.push(await outcomeOf({ convention: null, policy: "prefix", recomputed }, behind));
    }
    let scored: readonly KnownChunk[] | undefined;
    /** What a policy looks at does not depend on how much it recomputes. */
    const looked = new Map<string, { known: readonly KnownChunk[]; ms: number }>();
    const recomputed = new Map<string, number>();
    const repairable = caches.chunks.reduce((sum, { state, length }) => sum + (state === "linked" ? length : 0), 0);
    for (const name of names) {
      signal.throwIfAborted();
      const control = controlOf(name);
      const policy =
        control === null
          ? comparedPolicy(name)
          : { kind: control.kind, amount: recomputed.get(control.like)! / repairable, last: 0 };
      let known: readonly KnownChunk[] = caches.chunks;
      let extraMs = 0;
      if (policy.kind === "craft")
        known = scored ??= await withImpact(item, convention, caches, await machine.scorer());
      if (looks(policy)) {
        const key = `${policy.kind} ${"focus" in policy ? policy.focus : ""}`;
        const scorer = await machine.scorer();
        const before = process.cpuUsage();
        const found = looked.get(key) ?? { known: await lookAt(policy, scorer, { tokens, links }, known), ms: 0 };
        const { user, system } = process.cpuUsage(before);
        if (!looked.has(key)) looked.set(key, { ...found, ms: (user + system) / 1000 });
        known = found.known;
        extraMs = looked.get(key)!.ms;
      }
      const runs = planCompared(policy, known, splitmix64(tokens.length));
      recomputed.set(name, tokensIn(runs));
      const linked = await answering({ links, recompute: runs.map(([begin, end]) => ({ begin, end })) });
      outcomes.push(await outcomeOf({ convention, policy: name, recomputed: tokensIn(runs) / total }, linked, extraMs));
    }
  }
  return { tokens: tokens.length, outcomes } satisfies Measured;
}

const divergences = (full: Float32Array, linked: Float32Array, vocabulary: number) => ({
  kl: compareLogits(full, linked, vocabulary).kl,
  firstKl: compareLogits(full.subarray(0, vocabulary), linked.subarray(0, vocabulary), vocabulary).kl,
});
