// Whether deciding on candidates is possible at all: the embedder, the pool and the text worker are
// asked. decide.ts tells by it a candidate that fails from a dependency that is away.
import type { TextWork } from "../../connections/text/port.ts";
import type { ExampleStore } from "./admit.ts";

export interface ProbeDependencies {
  examples: () => Promise<ExampleStore>;
  text: Pick<TextWork, "check">;
  clock: () => number;
}

export function createProbe({ examples, text, clock }: ProbeDependencies): () => Promise<boolean> {
  // Makes each text a new one, so that no cache answers.
  let asked = 0;
  return async function works() {
    try {
      const { embedder, pool } = await examples();
      await text.check();
      const embedding = await embedder.embed(`Does deciding work? ${clock()} ${asked++}`);
      await pool.nearest("precedent/probe", embedding, 1, clock());
      return true;
    } catch {
      return false;
    }
  };
}
