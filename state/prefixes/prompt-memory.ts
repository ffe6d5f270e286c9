// Recent prompts of plan, so that prompts share prefixes: sequences of examples that the engine
// probably has cached, by arm and domain, and the examples of conversations. In memory and bounded;
// after a restart it fills again within minutes.
import { LivePrefixes, type PrefixCandidate } from "../../algorithms/selection/live-prefixes.ts";
import { createKeptExamples, type KeptExample, type KeptExamples, type KeptPrompt } from "./kept-examples.ts";

/** Providers drop an unused prefix after 5 to 10 minutes; engines when memory is short. */
const liveMs = 300_000;
const mostNodesOfTree = 10_000;
/** Nodes of all trees; about 200 bytes each. */
const mostNodes = 300_000;
const conversations = { most: 50_000, mostOfDomain: 5_000, timeToLive: 1_800_000 };

export interface PromptMemory {
  /** See LivePrefixes.longest. */
  longest(arm: string, domain: string, candidates: readonly PrefixCandidate[], count: number, loss: number): string[];
  keptOf: KeptExamples["of"];
  /** A prompt was composed. turn: its key or null. isPrefix: the arm begins with longest(). */
  note(domain: string, turn: string | null, prompt: KeptPrompt, isPrefix: boolean): void;
}

export function createPromptMemory(clock: () => number): PromptMemory {
  const kept = createKeptExamples(conversations, clock);
  /** In LRU order. */
  const trees = new Map<string, LivePrefixes>();
  let nodes = 0;
  const keyOf = (arm: string, domain: string): string => JSON.stringify([arm, domain]);

  const noteSequence = (key: string, examples: readonly KeptExample[]): void => {
    const tree = trees.get(key) ?? new LivePrefixes(liveMs, mostNodesOfTree);
    trees.delete(key);
    trees.set(key, tree);
    const before = tree.nodes;
    tree.note(
      examples.map(({ id }) => id),
      clock(),
    );
    nodes += tree.nodes - before;
    for (const [oldest, { nodes: its }] of trees) {
      if (nodes <= mostNodes) break;
      trees.delete(oldest);
      nodes -= its;
    }
  };

  return {
    longest: (arm, domain, candidates, count, loss) =>
      trees.get(keyOf(arm, domain))?.longest(candidates, count, loss, clock()) ?? [],
    keptOf: kept.of,
    note(domain, turn, prompt, isPrefix) {
      if (prompt.examples.length === 0) return;
      if (isPrefix) noteSequence(keyOf(prompt.arm, domain), prompt.examples);
      if (turn !== null) kept.keep(domain, turn, prompt);
    },
  };
}
