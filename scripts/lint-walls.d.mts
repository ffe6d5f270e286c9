import type { Linter } from "eslint";

/** Import boundaries of the rooms, as flat configuration objects. */
export const walls: Linter.Config[];
