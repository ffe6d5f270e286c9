// Which sequences of examples an engine behind an endpoint probably has in its prefix cache: those
// that prompts began with a short while ago, as a tree. One tree is of one arm and sharing domain.
// Bounded by time and nodes; time is passed in. Pure.

export interface PrefixCandidate {
  id: string;
  /** [0, 1]. */
  helpfulness: number;
}

interface Node {
  children: Map<string, Node>;
  /** Not before its children's: every prompt passes its parents. */
  usedAt: number;
}

/** Sequences looked at for one request. */
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

  /** A prompt was sent that begins with these. Amortised linear in them. */
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
    // Half of the time, a quarter, ...: what was used last stays as long as it can.
    for (let age = this.timeToLive; this.#nodes > this.mostNodes; age /= 2) {
      if (age < 1) this.#clear();
      else this.#nodes = drop(this.#root, now - age);
    }
  }

  /**
   * The longest live sequence of `candidates` with which, filled up with the most helpful of the
   * others, at most `count` examples lose at most `loss` of the sum of helpfulness that the `count`
   * most helpful have. Of equally long ones that which loses least.
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
      // The smaller of the two is gone through.
      const ids = node.children.size < byId.size ? node.children.keys() : byId.keys();
      for (const id of ids) {
        const child = node.children.get(id);
        const candidate = byId.get(id);
        if (child === undefined || candidate === undefined || path.includes(candidate)) continue;
        if (child.usedAt + this.timeToLive < now || ++steps > mostSteps) continue;
        const longer = [...path, candidate];
        const lost = lossOf(longer);
        // Sums of the same numbers in another order differ by rounding.
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

/** Drops what was used before that time; nodes that are left. */
function drop({ children }: Node, before: number): number {
  let left = 0;
  for (const [id, child] of children) {
    if (child.usedAt < before) children.delete(id);
    else left += 1 + drop(child, before);
  }
  return left;
}
