// What admit, evict and example-replay decide of an example.
import type { Example } from "../schemas/types.ts";

/** A change of the pool; value null takes the example away. */
export interface ExampleChange {
  id: string;
  domain: string;
  value: Example | null;
}
