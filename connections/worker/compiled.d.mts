/** What was compiled, from which sources. */
export interface Build {
  root: string;
  /** Before the first source was looked at. */
  began: number;
  folder: string;
  /** Source to compiled file, both relative. */
  entries: Record<string, string>;
  inputs: Record<string, { size: number; changed: number; touched: number; hash: string }>;
}
export function currentBuild(of?: string): Build | null;
export function compiledOf(source: string, build?: Build | null, of?: string): string | null;
