// Compares an arm's declared capabilities with those that a request's passthrough requires.
import { covers, type Capability } from "../algorithms/routing/passthrough.ts";

export interface Declares {
  /** Absent: nothing. */
  capabilities?: readonly Capability[] | undefined;
}

/** Whether the arm declares all of it. */
export const serves = ({ capabilities = [] }: Declares, requires: readonly string[]): boolean =>
  requires.every((one) => covers(capabilities, one));
