// Figures and times for people, in English whatever the browser's language. What is too small to
// show is "less than the least that is", never 0; what is not known is a dash.

const unknown = "–";
type Figure = number | null | undefined;
const isKnown = (value: Figure): value is number => typeof value === "number" && Number.isFinite(value);
const grouped = (value: number): string => value.toLocaleString("en-US");

export const count = (value: Figure): string => (isKnown(value) ? grouped(Math.round(value)) : unknown);

const least = 1e-12;

/** Plain decimals, never an exponent. */
function decimals(value: number): string {
  const size = Math.abs(value);
  if (size < least) return value < 0 ? "> -0.000000000001" : "< 0.000000000001";
  return size >= 999.5
    ? grouped(Math.round(value))
    : value.toLocaleString("en-US", { maximumSignificantDigits: 3, maximumFractionDigits: 20 });
}

/** Three significant figures. */
export const figure = (value: Figure): string => (!isKnown(value) ? unknown : value === 0 ? "0" : decimals(value));

/** In the currency of the prices. */
export const cost = (value: Figure): string => figure(value);

/** Three decimals, for probabilities, rewards and their sums. */
export function fraction(value: Figure): string {
  if (!isKnown(value)) return unknown;
  if (value > 0 && value < 0.0005) return "< 0.001";
  if (value < 1 && value >= 0.9995) return "> 0.999";
  const text = value.toFixed(3);
  return text === "-0.000" ? (value > -0.0005 && value < 0 ? "> -0.001" : "0.000") : text;
}

/** A share of 1 in percent. One decimal where a whole number would hide something. */
export function share(value: Figure): string {
  if (!isKnown(value)) return unknown;
  const percent = value * 100;
  if (percent > 0 && percent < 0.05) return "< 0.1 %";
  if (percent < 100 && percent >= 99.95) return "> 99.9 %";
  const isFine = Math.abs(percent) < 10 || (percent > 99 && percent < 100);
  return `${Number(percent.toFixed(isFine ? 1 : 0)) || 0} %`;
}

/** Whole units that add up to `units`, by the largest remainders; all 0 where nothing is shared. */
export function apportion(values: readonly number[], units: number): number[] {
  const known = values.map((value) => (isKnown(value) && value > 0 ? value : 0));
  const total = known.reduce((sum, value) => sum + value, 0);
  if (total === 0) return known;
  const exact = known.map((value) => (value / total) * units);
  const parts = exact.map(Math.floor);
  const left = units - parts.reduce((sum, part) => sum + part, 0);
  const byRemainder = exact.map((value, i) => [value - Math.floor(value), i] as const).sort(([a], [b]) => b - a);
  for (const [, i] of byRemainder.slice(0, Math.round(left))) parts[i] = (parts[i] ?? 0) + 1;
  return parts;
}

/** The parts of a whole in percent; the printed numbers add up to 100. */
export function shares(values: readonly number[]): string[] {
  const tenths = apportion(values, 1_000);
  const isWhole = tenths.every((tenth) => tenth % 10 === 0);
  return tenths.map((tenth, i) =>
    tenth === 0 && (values[i] ?? 0) > 0 ? "< 0.1 %" : `${(tenth / 10).toFixed(isWhole ? 0 : 1)} %`,
  );
}

/** Rows with their share of the sum of a figure. */
export function withShares<R>(rows: readonly R[], figureOf: (row: R) => number): (R & { part: string })[] {
  const parts = shares(rows.map(figureOf));
  return rows.map((row, i) => ({ ...row, part: parts[i] ?? "" }));
}

/** Probabilities of one choice; the printed numbers add up to 1 if the probabilities do. */
export function probabilities(values: readonly number[]): string[] {
  const total = values.reduce((sum, value) => sum + value, 0);
  if (Math.abs(total - 1) > 1e-6) return values.map(fraction);
  return apportion(values, 1_000).map((part, i) =>
    part === 0 && (values[i] ?? 0) > 0
      ? "< 0.001"
      : part === 1_000 && (values[i] ?? 0) < 1
        ? "> 0.999"
        : (part / 1_000).toFixed(3),
  );
}

export function duration(ms: Figure): string {
  if (!isKnown(ms)) return unknown;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 999.5) return ms > 0 && ms < 0.05 ? "< 0.1 ms" : `${ms < 9.95 ? Number(ms.toFixed(1)) : ms.toFixed(0)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${grouped(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

const two = (value: number): string => String(value).padStart(2, "0");
const isTime = (at: Figure): at is number => isKnown(at) && Math.abs(at) <= 8_640_000_000_000_000;

/** The day only where it is not today. */
export function time(at: Figure): string {
  if (!isTime(at)) return unknown;
  const then = new Date(at);
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  return then.toDateString() === new Date().toDateString() ? clock : `${dayOf(then)} ${clock}`;
}

const dayOf = (then: Date): string => `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;

export const whole = (at: Figure): string =>
  isTime(at) ? `${new Date(at).toISOString().replace("T", " ").slice(0, -5)} UTC` : unknown;

export function ago(at: Figure): string {
  if (!isTime(at)) return unknown;
  const ms = Math.max(0, Date.now() - at);
  const units = [
    ["s", 1_000, 60_000],
    ["min", 60_000, 3_600_000],
    ["h", 3_600_000, 172_800_000],
  ] as const;
  // The unit fits the printed number: 59.7 s are a minute.
  const [unit, size] = units.find(([, size, limit]) => Math.round(ms / size) * size < limit) ?? ["days", 86_400_000];
  return `${grouped(Math.round(ms / size))} ${unit} ago`;
}

/** Domains are tenant/domain, both escaped; next to the tenant the second part is enough. */
export function domainOf(domain: string): string {
  const name = domain.slice(domain.indexOf("/") + 1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
