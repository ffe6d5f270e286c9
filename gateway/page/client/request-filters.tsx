// Rarely used filters, and the choice of columns.
import type { SetQuery } from "./range.tsx";

/** Parameters of the address that filter or sort the list. */
export const narrowing = [
  ...["search", "tenant", "domain", "arm", "key", "state", "source", "error", "answer", "user", "session", "tag"],
  ...["minCost", "minMs", "maxReward", "sort"],
] as const;

const fields = [
  ["answer", "Words of the answer", "text", "compressed air"],
  ["user", "User", "text", "as in the request"],
  ["session", "Session", "text", "metadata.session"],
  ["tag", "Tag", "text", "team=search, or team"],
  ["error", "Error code", "text", "endpoint_timeout"],
  ["minCost", "Cost at least", "number", "0.01"],
  ["minMs", "Took at least, ms", "number", "2000"],
  ["maxReward", "Reward at most", "number", "0.5"],
] as const;

interface Props {
  query: URLSearchParams;
  set: SetQuery;
  hidden: ReadonlySet<string>;
  optional: readonly string[];
}

export function MoreFilters({ query, set, hidden, optional }: Props) {
  const used = fields.filter(([name]) => query.get(name)).length;
  const toggled = (name: string): string =>
    optional.filter((one) => (one === name ? !hidden.has(one) : hidden.has(one))).join(",");
  return (
    <details class="more">
      <summary>More{used > 0 && ` (${used})`}</summary>
      <div>
        {fields.map(([name, label, type, example]) => (
          <label key={name}>
            <span>{label}</span>
            <input
              type="text"
              inputMode={type === "number" ? "decimal" : "text"}
              placeholder={example}
              value={query.get(name) ?? ""}
              onChange={({ currentTarget: { value } }) => set({ [name]: value.trim() })}
            />
          </label>
        ))}
        <fieldset>
          <legend>Columns</legend>
          {optional.map((name) => (
            <label key={name} class="check">
              <input type="checkbox" checked={!hidden.has(name)} onChange={() => set({ hide: toggled(name) })} />
              {name}
            </label>
          ))}
        </fieldset>
      </div>
    </details>
  );
}
