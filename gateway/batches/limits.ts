// Bounds of files and batches. OpenAI's where it has them.

export const mostFileBytes = 200 * 1024 * 1024;
export const mostLines = 50_000;
/** Of a tenant, within the time that they are kept. */
export const mostFiles = 1_000;
export const mostBatches = 1_000;
/** Of a tenant: batches that are not finished. */
export const mostOpenBatches = 20;
/** Problems of a file that are kept. */
export const mostProblems = 20;

const dayMs = 86_400_000;
/** How long files and batches are there. */
export const keptMs = 30 * dayMs;
/** The only completion window. An id is recognised for as long, so that no line is asked twice. */
export const windowMs = dayMs;
