// What a server has of all that this version needs, and whether its clock agrees with ours.
import type { Check } from "./doctor-check.ts";

/** The first process to start creates topics, subjects and tables. */
const comes = "precedent up makes it";
const mostNamed = 3;

/** Names what is missing where something is there: it was deleted, or is new in this version. */
export function counted(wanted: readonly string[], existing: ReadonlySet<string>, what: string): Omit<Check, "name"> {
  const missing = wanted.filter((name) => !existing.has(name));
  const all = wanted.length;
  if (missing.length === 0) return { state: "fine", detail: `${all} ${what}` };
  const more = missing.length > mostNamed ? ", ..." : "";
  const named = missing.length === all ? "" : `, without ${missing.slice(0, mostNamed).join(", ")}${more}`;
  return { state: "waiting", detail: `${all - missing.length} of ${all} ${what}${named}`, remedy: comes };
}

/** docs/operations.md, Clients' clocks. */
const mostSkewMs = 5_000;

/**
 * A server's clock beside ours: brokers date requests, and stages compare deadlines with that.
 * @param theirs the server's time, while the query ran
 */
export function clockSkew(theirs: number, { began, ended }: { began: number; ended: number }): Partial<Check> {
  const skew = theirs < began ? theirs - began : Math.max(0, theirs - ended);
  if (!(Math.abs(skew) > mostSkewMs)) return {};
  return {
    state: "lacking",
    detail: `its clock is ${Math.round(Math.abs(skew) / 1_000)} s ${skew > 0 ? "ahead of" : "behind"} this machine's: requests may expire at once, or late`,
    remedy: "synchronise the clocks of this machine, the servers and the stages (NTP)",
  };
}
