// A binary heap of nodes that know their position in it, so that a node's key can change and a node
// can leave from the middle in logarithmic time. The least key is first, and among equal keys the
// least id.
import type { Id } from "../../algorithms/response-cache/policy.ts";

export interface HeapNode {
  readonly id: Id;
  /** Set by push and update alone. */
  key: number;
  /** Position in the heap; -1: outside. */
  at: number;
}

export interface Heap<N extends HeapNode> {
  push(node: N, key: number): void;
  update(node: N, key: number): void;
  remove(node: N): void;
  first(): N | undefined;
  /** Gives every node the key that `keyOf` says. */
  rekey(keyOf: (node: N) => number): void;
  /** In no particular order. */
  nodes(): readonly N[];
}

export function createHeap<N extends HeapNode>(): Heap<N> {
  const nodes: N[] = [];
  const before = (one: N, other: N): boolean => one.key < other.key || (one.key === other.key && one.id < other.id);
  const index = (node: N, at: number): void => {
    nodes[at] = node;
    node.at = at;
  };

  function up(node: N): void {
    let { at } = node;
    while (at > 0) {
      const parent = nodes[(at - 1) >> 1]!;
      if (!before(node, parent)) break;
      index(parent, at);
      at = (at - 1) >> 1;
    }
    index(node, at);
  }

  function down(node: N): void {
    let { at } = node;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= nodes.length) break;
      if (child + 1 < nodes.length && before(nodes[child + 1]!, nodes[child]!)) child++;
      if (!before(nodes[child]!, node)) break;
      index(nodes[child]!, at);
      at = child;
    }
    index(node, at);
  }

  const settle = (node: N): void => {
    up(node);
    down(node);
  };

  return {
    push(node, key) {
      node.key = key;
      node.at = nodes.length;
      nodes.push(node);
      up(node);
    },
    update(node, key) {
      node.key = key;
      settle(node);
    },
    remove(node) {
      const { at } = node;
      const last = nodes.pop()!;
      node.at = -1;
      if (last === node) return;
      index(last, at);
      settle(last);
    },
    first: () => nodes[0],
    rekey(keyOf) {
      for (const node of nodes) node.key = keyOf(node);
      for (let i = (nodes.length >> 1) - 1; i >= 0; i--) down(nodes[i]!);
    },
    nodes: () => nodes,
  };
}
