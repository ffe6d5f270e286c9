// What a step needs that lives: opened by the `open.ts` of its folder, closed with its stage.

export interface Opened<Dependencies> {
  dependencies: Dependencies;
  stop(): Promise<void>;
}
