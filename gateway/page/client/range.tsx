// The time and the names that figures are of, in the address: the last so many hours, or any time.
import type { Names } from "../data/names.ts";

const spans = [
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["6 hours", 21_600_000],
  ["24 hours", 86_400_000],
  ["7 days", 604_800_000],
  ["30 days", 2_592_000_000],
] as const;
const usualMs = 86_400_000;
/** A range that ends now is rounded to whole steps, so that rerenders repeat the query. */
const stepMs = 10_000;

export type SetQuery = (changes: Readonly<Record<string, string>>) => void;

export interface Range {
  from: number;
  until: number;
  /** The range ends now and moves along. */
  isLive: boolean;
}

export function rangeOf(query: URLSearchParams, now: number): Range {
  const [from, until] = [Number(query.get("from") ?? NaN), Number(query.get("until") ?? NaN)];
  if (Number.isFinite(from) && Number.isFinite(until) && from < until) return { from, until, isLive: false };
  const given = Number(query.get("last") ?? NaN);
  const span = Number.isFinite(given) && given >= 60_000 ? given : usualMs;
  const end = Math.ceil(now / stepMs) * stepMs;
  return { from: end - span, until: end, isLive: true };
}

/** The period as the gateway is asked for it: one that moves along is named by its length. */
export const periodOf = ({ from, until, isLive }: Range): Readonly<Record<string, number>> =>
  isLive ? { last: until - from } : { from, until };

/** With one end elsewhere; beyond the other end it takes that along. */
export function movedEnd(
  { from, until }: Pick<Range, "from" | "until">,
  name: "from" | "until",
  at: number,
): Pick<Range, "from" | "until"> {
  const span = until - from;
  return name === "from"
    ? { from: at, until: at < until ? until : at + span }
    : { from: from < at ? from : Math.max(0, at - span), until: at };
}

const names = ["tenant", "domain", "arm", "key"] as const;

/** Parameters of the address that filter figures. */
export const narrowedBy = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? ""]] : [])));

const two = (value: number): string => String(value).padStart(2, "0");
/** Value of a datetime-local field, in the reader's time zone. */
const fieldOf = (at: number): string => {
  const then = new Date(at);
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
  return `${day}T${two(then.getHours())}:${two(then.getMinutes())}`;
};

export function TimeFields({ query, set, range }: { query: URLSearchParams; set: SetQuery; range: Range }) {
  const end = (name: "from" | "until", label: string) => (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        value={fieldOf(range[name])}
        onChange={({ currentTarget: { value } }) => {
          const at = new Date(value).getTime();
          // A year that is still being typed, such as 0002, is no time yet.
          if (!(at >= 0)) return;
          const { from, until } = movedEnd(range, name, at);
          set({ last: "", from: String(from), until: String(until) });
        }}
      />
    </label>
  );
  const last = query.get("last") ?? String(usualMs);
  return (
    <>
      <label>
        <span>Time</span>
        <select
          value={range.isLive ? last : "any"}
          onChange={({ currentTarget: { value } }) =>
            value === "any"
              ? set({ last: "", from: String(range.from), until: String(range.until) })
              : set({ last: value === String(usualMs) ? "" : value, from: "", until: "" })
          }
        >
          {spans.map(([label, ms]) => (
            <option key={label} value={String(ms)}>
              last {label}
            </option>
          ))}
          {range.isLive && spans.every(([, ms]) => String(ms) !== last) && <option value={last}>another time</option>}
          <option value="any">from, until</option>
        </select>
      </label>
      {!range.isLive && end("from", "From")}
      {!range.isLive && end("until", "Until")}
    </>
  );
}

/** A select of known names, plus the address's own value. */
export const Choice = ({
  name,
  label,
  values,
  none = "all",
  query,
  set,
}: {
  name: string;
  label: string;
  values: readonly (string | readonly [value: string, label: string])[];
  /** Label of the empty choice. */
  none?: string;
  query: URLSearchParams;
  set: SetQuery;
}) => {
  const given = query.get(name) ?? "";
  const all = values.map((one) => (typeof one === "string" ? ([one, one] as const) : one));
  return (
    <label>
      <span>{label}</span>
      <select value={given} onChange={({ currentTarget: { value } }) => set({ [name]: value })}>
        <option value="">{none}</option>
        {given !== "" && all.every(([value]) => value !== given) && <option value={given}>{given}</option>}
        {all.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
};

export const NameFields = (props: { names: Names; query: URLSearchParams; set: SetQuery }) => (
  <>
    <Choice {...props} name="tenant" label="Tenant" values={props.names.tenants} />
    <Choice {...props} name="domain" label="Domain" values={props.names.domains} />
    <Choice {...props} name="arm" label="Arm" values={props.names.arms} />
    <Choice {...props} name="key" label="Key" values={props.names.keys} />
  </>
);
