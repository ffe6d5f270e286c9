import type { Linter } from "eslint";

/** Who may import what, as flat configuration objects. */
export const importRules: Linter.Config[];
