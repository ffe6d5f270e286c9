// Bounds of files and batches; OpenAI's where it has them.

export const mostFileBytes = 200 * 1024 * 1024;
export const mostLines = 50_000;
/** Per tenant, within the time that they are kept. */
export const mostFiles = 1_000;
export const mostBatches = 1_000;
/** Unfinished batches per tenant. */
export const mostOpenBatches = 20;
/** Problems that are kept per file. */
export const mostProblems = 20;

const dayMs = 86_400_000;
/** How long files and batches are kept. */
export const keptMs = 30 * dayMs;
/** The only completion window; ids are known for as long, so no line is answered twice. */
export const windowMs = dayMs;
