// A context for tests of linked prefill without a model: the row of a computed token is a hash of
// it and of all rows before it, so that rows are equal exactly where a real model's would be, and
// what was linked from elsewhere shows.
import { createHash } from "node:crypto";
import type { LlamaContext, Prompt, RunResult } from "../../connections/llama/port.ts";

export interface TestingContext extends Pick<LlamaContext, "run"> {
  /** Every prompt so far, and the rows that it had in the end. */
  readonly runs: { prompt: Prompt; rows: string[] }[];
  /** Rows of a prompt that is prefilled whole. */
  reference(tokens: ArrayLike<number>): string[];
}

/** `pause`: waited for in every run, before it is done. */
export function createTestingContext(pause: () => Promise<void> = () => Promise.resolve()): TestingContext {
  const runs: TestingContext["runs"] = [];
  const row = (rows: readonly string[], token: number): string =>
    createHash("sha1").update(`${rows.join()} ${token}`).digest("base64").slice(0, 8);

  function reference(tokens: ArrayLike<number>): string[] {
    const rows: string[] = [];
    for (const token of Array.from(tokens)) rows.push(row(rows, token));
    return rows;
  }

  return {
    runs,
    reference,
    async run(prompt): Promise<RunResult> {
      const { tokens, links = [], recompute = [], exports = [], maxTokens = 0 } = prompt;
      const linked = new Map<number, string>();
      for (const { blob, position } of links) {
        const held = JSON.parse(Buffer.from(blob).toString()) as { tokens: number[]; rows: string[] };
        for (const [index, token] of held.tokens.entries()) {
          const at = position + index;
          if (linked.has(at) || tokens[at] !== token) throw new Error(`a cache does not fit at ${at}`);
          linked.set(at, held.rows[index]!);
        }
      }
      const covered = linked.size;
      for (const { begin, end } of recompute) for (let at = begin; at < end; at++) linked.delete(at);
      if (maxTokens > 0) linked.delete(tokens.length - 1);
      const rows: string[] = [];
      for (const [at, token] of tokens.entries()) rows.push(linked.get(at) ?? row(rows, token));
      await pause();
      runs.push({ prompt, rows });
      const blobs = exports.map(({ begin, end }) =>
        Buffer.from(JSON.stringify({ tokens: [...tokens.slice(begin, end)], rows: rows.slice(begin, end) })),
      );
      const timings = {
        queuedMs: 0,
        linkedMs: 0,
        prefilledMs: 1,
        firstMs: maxTokens > 0 ? 1 : 0,
        totalMs: 1,
        cpuFirstMs: 1,
      };
      return {
        ...{
          text: rows.at(-1) ?? "",
          generated: Int32Array.of(1),
          finish: "stop",
          runs: 1,
          blobs,
          logits: new Float32Array(),
        },
        ...{ linked: linked.size, recomputed: covered - linked.size, prefilled: tokens.length - covered },
        timings: { ...timings, exportedMs: 0 },
      };
    },
  };
}
