// One thing that `precedent doctor` has looked at.
export interface Check {
  name: string;
  /**
   * missing: something does not work without it; lacking: it works, less well; waiting: it is
   * created when it is first needed.
   */
  state: "fine" | "missing" | "lacking" | "waiting";
  detail: string;
  /** What to do about it. */
  remedy?: string;
}
