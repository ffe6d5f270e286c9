// A colour for each arm, the same on all views as long as the page is open.

const palette = ["--arm-1", "--arm-2", "--arm-3", "--arm-4", "--arm-5", "--arm-6"];
const known = new Map<string, string>();

/** Names that are given first get the first colours: call it with all names in a fixed order. */
export function armColour(name: string): string {
  const colour = known.get(name) ?? palette[known.size % palette.length] ?? "--arm-1";
  if (!known.has(name) && known.size < 1_000) known.set(name, colour);
  return `var(${colour})`;
}

/** As a canvas needs it. */
export const resolved = (colour: string): string =>
  colour.startsWith("var(")
    ? getComputedStyle(document.documentElement).getPropertyValue(colour.slice(4, -1)).trim()
    : colour;
