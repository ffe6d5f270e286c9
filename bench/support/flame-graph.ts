// A CPU profile of node (--cpu-prof) as a flame graph: callees above their callers, as wide as the
// time they took, in one file without scripts. Pure.

/** What node writes. */
export interface CpuProfile {
  nodes: readonly {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: readonly number[];
  }[];
  samples: readonly number[];
  /** Microseconds before each sample. */
  timeDeltas: readonly number[];
}

export interface FlameGraphOptions {
  title: string;
  width: number;
  /** Narrower ones are left out: a share of the whole. */
  least: number;
  /** Frames that are no work. */
  leaveOut: readonly string[];
}

interface Frame {
  name: string;
  ms: number;
  children: Map<string, Frame>;
}

/** Time by stack; calls of one function from one place are one frame. */
export function framesOf({ nodes, samples, timeDeltas }: CpuProfile, leaveOut: readonly string[]): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const self = new Map<number, number>();
  samples.forEach((id, index) => self.set(id, (self.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1_000));
  const root: Frame = { name: "all", ms: 0, children: new Map() };
  for (const [id, ms] of self) {
    const stack: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byId.get(at);
      if (node !== undefined && node.callFrame.functionName !== "(root)") stack.push(nameOf(node.callFrame));
    }
    if (stack.length === 0 || leaveOut.includes(stack[0]!)) continue;
    let frame = root;
    frame.ms += ms;
    for (const name of stack.reverse()) {
      const next: Frame = frame.children.get(name) ?? { name, ms: 0, children: new Map() };
      frame.children.set(name, next);
      next.ms += ms;
      frame = next;
    }
  }
  return root;
}

/** The function and the last two parts of its file, no folder of anybody's machine. */
function nameOf({ functionName, url }: CpuProfile["nodes"][number]["callFrame"]): string {
  const file = url.split("?")[0]!.split("/").slice(-2).join("/");
  return [functionName === "" ? "(anonymous)" : functionName, file].filter((part) => part !== "").join(" ");
}

const rowHeight = 17;
const letterWidth = 6.6;

export function flameGraph(profile: CpuProfile, { title, width, least, leaveOut }: FlameGraphOptions): string {
  const root = framesOf(profile, leaveOut);
  const boxes: { frame: Frame; x: number; depth: number }[] = [];
  let deepest = 0;
  const place = (frame: Frame, x: number, depth: number): void => {
    if (frame.ms < least * root.ms) return;
    boxes.push({ frame, x, depth });
    deepest = Math.max(deepest, depth);
    let at = x;
    for (const child of [...frame.children.values()].sort((a, b) => b.ms - a.ms)) {
      place(child, at, depth + 1);
      at += child.ms;
    }
  };
  place(root, 0, 0);
  const height = (deepest + 3) * rowHeight;
  const scale = width / Math.max(root.ms, 1e-9);
  const rows = boxes.map(({ frame, x, depth }) => {
    const [left, top, wide] = [x * scale, height - (depth + 1) * rowHeight, frame.ms * scale];
    const share = `${((100 * frame.ms) / root.ms).toFixed(1)} %`;
    const letters = Math.floor((wide - 6) / letterWidth);
    const text =
      letters < 3
        ? ""
        : `<text x="${(left + 3).toFixed(1)}" y="${top + 12}">${escaped(shortened(frame.name, letters))}</text>`;
    const box = `<rect x="${left.toFixed(1)}" y="${top}" width="${Math.max(0.3, wide - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${colour(frame.name)}" rx="1"/>`;
    return `<g><title>${escaped(frame.name)}: ${share}</title>${box}${text}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/><text x="4" y="14" font-size="13">${escaped(title)}</text>`,
    ...rows,
    "</svg>\n",
  ].join("\n");
}

const shortened = (name: string, letters: number): string =>
  name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** One colour a function, the same in every graph. */
function colour(name: string): string {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) % 9_973;
  return `hsl(${15 + (hash % 40)} ${60 + (hash % 25)}% ${68 + (hash % 14)}%)`;
}
