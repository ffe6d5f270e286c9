// The prefix cache of vLLM: full blocks of 16 tokens, each known by a hash of its tokens and all
// before them; the least recently used leaves. Time linear in the tokens.
export const blockTokens = 16;

export interface BlockCache {
  /** Tokens of the prompt whose blocks were there; then all of its full blocks are. */
  ask(prompt: Int32Array): number;
}

/** capacity: blocks. */
export function createBlockCache(capacity: number): BlockCache {
  const blocks = new Set<number>();
  return {
    ask(prompt) {
      // The last token is always computed.
      const path = blockHashes(prompt.subarray(0, Math.max(0, prompt.length - 1)));
      const missing = path.findIndex((hash) => !blocks.has(hash));
      // The last blocks of a prompt leave first: without its beginning a block is of no use.
      for (const hash of path.reverse()) {
        blocks.delete(hash);
        blocks.add(hash);
      }
      for (const hash of blocks) {
        if (blocks.size <= capacity) break;
        blocks.delete(hash);
      }
      return (missing < 0 ? path.length : missing) * blockTokens;
    },
  };
}

/** 53 bits of two multiplicative hashes: of a million blocks no two are likely to share one. */
function blockHashes(tokens: Int32Array): number[] {
  const hashes: number[] = [];
  let [one, other] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at + blockTokens <= tokens.length; at += blockTokens) {
    for (let i = at; i < at + blockTokens; i++) {
      one = Math.imul(one ^ tokens[i]!, 0x01000193);
      one ^= one >>> 15;
      other = Math.imul(other ^ tokens[i]!, 0x85ebca6b);
      other ^= other >>> 13;
    }
    hashes.push((one >>> 0) * 2 ** 21 + (other >>> 11));
  }
  return hashes;
}
