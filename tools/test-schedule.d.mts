export function lineCount(cores: number, memoryBytes: number): number;
export function expectedSeconds(
  files: readonly string[],
  recorded: Readonly<Record<string, number>>,
): Map<string, number>;
export function divide(expected: ReadonlyMap<string, number>, busy: readonly number[]): string[][];
export interface Progress {
  finish(line: number, seconds: number): void;
  left(): number;
}
export function createProgress(totals: readonly number[], elapsed: () => number): Progress;
