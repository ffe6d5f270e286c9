export interface Module {
  name: string;
  about: string;
  imports: readonly string[] | "everything";
  only?: Readonly<Record<string, readonly string[]>>;
  folders?: "apart";
}
export const modules: readonly Module[];

/** Patterns of the files of ports. */
export const ports: readonly string[];

/** Files of compositions, and the modules that they may import. */
export const compositions: { readonly files: string; readonly imports: readonly string[] };

/** Patterns of files to which no rule applies. */
export const tests: readonly string[];

export interface PackageRule {
  packages: readonly string[];
  /** The only files that may import them. */
  within: readonly string[];
  /** What others use instead. */
  use: string;
}
export const packages: readonly PackageRule[];
