// The curve of quality against recomputed share as an SVG: a panel for each workload and
// convention, a line for each policy. Pure.
import type { Row } from "./figures.ts";

const panel = { width: 290, height: 200, left: 46, top: 30, right: 12, bottom: 34 };
const footer = 46;
const colours: Readonly<Record<string, string>> = {
  last: "#1b6ca8",
  "last+attnlink": "#17a2a2",
  attnlink: "#d1495b",
  blend: "#edae49",
  craft: "#7a5195",
  "craft+focus": "#b08ed0",
  random: "#8d99ae",
  attended: "#4f772d",
  prefix: "#2f2f2f",
};

/** last-2 and last-3 are one line, from naive on; last-2+attnlink-2 starts at last-2. */
const familyOf = (policy: string): string => policy.replace(/-[\d.]+/g, "");

/** `titles`: of the workloads, one a line of panels, in order. */
export function chartOf(rows: readonly Row[], titles: Readonly<Record<string, string>>): string {
  const workloads = Object.keys(titles).filter((name) => rows.some(({ workload }) => workload === name));
  const conventions = [...new Set(rows.flatMap(({ convention }) => convention ?? []))];
  const width = Math.max(1, conventions.length) * panel.width;
  const height = workloads.length * panel.height + footer;
  const panels = workloads.flatMap((workload, y) => {
    const of = rows.filter((row) => row.workload === workload && row.convention !== null);
    const axes = {
      share: Math.max(0.1, ...of.map(({ recomputed }) => Math.ceil(recomputed * 10) / 10)),
      kl: Math.max(0.02, ...of.map(({ kl }) => Math.ceil(kl * 20) / 20)),
    };
    return conventions.map((convention, x) =>
      panelOf(
        of.filter((row) => row.convention === convention),
        { x: x * panel.width, y: y * panel.height, title: `${titles[workload]}, cached ${convention}`, ...axes },
      ),
    );
  });
  const families = Object.keys(colours).filter((name) => rows.some(({ policy }) => familyOf(policy) === name));
  const legend = families.map((name, i) => {
    const x = 20 + i * 122;
    const y = height - 24;
    return `<line x1="${x}" y1="${y}" x2="${x + 22}" y2="${y}" stroke="${colours[name]}" stroke-width="2"/>${text(x + 28, y + 4, name)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    ...legend,
    text(
      20,
      height - 6,
      "Across: share of the chunks' tokens computed again. Up: mean KL from a full prefill, nats. A line starts at naive where that was asked of the same requests.",
    ),
    "</svg>\n",
  ].join("\n");
}

interface Place {
  x: number;
  y: number;
  title: string;
  share: number;
  kl: number;
}

function panelOf(rows: readonly Row[], { x, y, title, share, kl }: Place): string {
  const [left, right] = [x + panel.left, x + panel.width - panel.right];
  const [top, bottom] = [y + panel.top, y + panel.height - panel.bottom];
  const across = (value: number): number => round(left + (value / share) * (right - left));
  const up = (value: number): number => round(bottom - (value / kl) * (bottom - top));
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
    `<line x1="${left}" y1="${up(part * kl)}" x2="${right}" y2="${up(part * kl)}" stroke="#ddd"/>`,
    text(left - 4, up(part * kl) + 4, (part * kl).toFixed(3), "end"),
    text(across(part * share), bottom + 14, `${round(part * share * 100)}%`, "middle"),
  ]);
  const naive = rows.find(({ policy }) => policy === "naive");
  const lines = Object.entries(colours).flatMap(([family, colour]) => {
    const own = rows.filter(({ policy }) => familyOf(policy) === family);
    if (own.length === 0) return [];
    const start =
      family === "last+attnlink" ? rows.find(({ policy }) => policy === own[0]!.policy.split("+")[0]) : naive;
    // Means over other requests are no beginning: expensive policies are asked fewer.
    const points = [...(start?.n === own[0]!.n ? [start] : []), ...own].sort((a, b) => a.recomputed - b.recomputed);
    const path = points.map((row) => `${across(row.recomputed)},${up(row.kl)}`).join(" ");
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      ...own.map(
        (row) =>
          `<circle cx="${across(row.recomputed)}" cy="${up(row.kl)}" r="3" fill="${colour}"><title>${row.policy}: KL ${row.kl}, ${row.n} requests</title></circle>`,
      ),
    ];
  });
  return [text(left, y + 18, title), ...ticks, ...lines].join("\n");
}

const text = (x: number, y: number, content: string, anchor = "start"): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}">${content.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;

const round = (value: number): number => Math.round(value * 10) / 10;
