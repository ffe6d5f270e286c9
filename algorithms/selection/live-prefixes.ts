// Sequences of examples that an engine probably has in its prefix cache: the beginnings of recent
// prompts, as a tree for each arm and sharing domain. Bounded by time and nodes; time is passed in.
// Pure.

export interface PrefixCandidate {
  id: string;
  /** [0, 1]. */
  helpfulness: number;
}

interface Node {
  children: Map<string, Node>;
  /** At least its children's: every prompt passes through its parents. */
  usedAt: number;
}

/** Most sequences examined for one request. */
const mostSteps = 512;

export class LivePrefixes {
  #root: Node = { children: new Map(), usedAt: 0 };
  #nodes = 0;

  /** timeToLive: in the unit of `now`; mostNodes > 0. */
  constructor(
    readonly timeToLive: number,
    readonly mostNodes: number,
  ) {}

  get nodes(): number {
    return this.#nodes;
  }

  /** Records a sent prompt that begins with these examples. Amortised linear in them. */
  note(ids: readonly string[], now: number): void {
    let node = this.#root;
    for (const id of ids) {
      let child = node.children.get(id);
      if (child === undefined) {
        child = { children: new Map(), usedAt: now };
        node.children.set(id, child);
        this.#nodes++;
      }
      child.usedAt = Math.max(child.usedAt, now);
      node = child;
    }
    // Drops what is older than timeToLive, then half of that, and so on, until the rest fits.
    for (let age = this.timeToLive; this.#nodes > this.mostNodes; age /= 2) {
      if (age < 1) this.#clear();
      else this.#nodes = drop(this.#root, now - age);
    }
  }

  /**
   * The longest live sequence of `candidates`, filled up to `count` with the most helpful others.
   * Its sum of helpfulness is at most `loss` below that of the `count` most helpful. Ties go to the
   * sequence that loses least.
   */
  longest(candidates: readonly PrefixCandidate[], count: number, loss: number, now: number): string[] {
    const ranked = [...candidates].sort((a, b) => b.helpfulness - a.helpfulness);
    const byId = new Map(ranked.map((one) => [one.id, one]));
    const best = sum(ranked.slice(0, count));
    const lossOf = (path: readonly PrefixCandidate[]): number => {
      const others = ranked.filter((one) => !path.includes(one)).slice(0, count - path.length);
      return best - sum(path) - sum(others);
    };
    let found: { path: PrefixCandidate[]; lost: number } = { path: [], lost: 0 };
    let steps = 0;
    const walk = (node: Node, path: PrefixCandidate[]): void => {
      if (path.length === count) return;
      // Iterates over the smaller of the two.
      const ids = node.children.size < byId.size ? node.children.keys() : byId.keys();
      for (const id of ids) {
        const child = node.children.get(id);
        const candidate = byId.get(id);
        if (child === undefined || candidate === undefined || path.includes(candidate)) continue;
        if (child.usedAt + this.timeToLive < now || ++steps > mostSteps) continue;
        const longer = [...path, candidate];
        const lost = lossOf(longer);
        // Tolerance: sums of the same numbers in another order differ by rounding.
        if (lost <= loss + 1e-9 && (longer.length > found.path.length || isBetter(longer, lost)))
          found = { path: longer, lost };
        walk(child, longer);
      }
    };
    const isBetter = (path: readonly PrefixCandidate[], lost: number): boolean =>
      path.length === found.path.length && lost < found.lost;
    walk(this.#root, []);
    return found.path.map(({ id }) => id);
  }

  #clear(): void {
    this.#root = { children: new Map(), usedAt: 0 };
    this.#nodes = 0;
  }
}

const sum = (candidates: readonly PrefixCandidate[]): number =>
  candidates.reduce((total, { helpfulness }) => total + helpfulness, 0);

/** Drops nodes last used before that time; returns the number that is left. */
function drop({ children }: Node, before: number): number {
  let left = 0;
  for (const [id, child] of children) {
    if (child.usedAt < before) children.delete(id);
    else left += 1 + drop(child, before);
  }
  return left;
}
