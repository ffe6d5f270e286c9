// One thing that `precedent doctor` has looked at.
export interface Check {
  name: string;
  /** missing: needed; lacking: works less well without; waiting: created when first needed. */
  state: "fine" | "missing" | "lacking" | "waiting";
  detail: string;
  /** What to do about it. */
  remedy?: string;
}
