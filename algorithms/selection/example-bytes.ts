// What an example weighs in a pool: its texts in UTF-8 and its vector in half precision. Caches of
// its keys and values lie in the stores of the arms, within budgets of their own. Pure.

/** Bytes of a number of a vector, as the store writes it (half-precision.ts). */
const numberBytes = 2;

export const exampleBytes = (request: string, response: string, dimension: number): number =>
  Buffer.byteLength(request) + Buffer.byteLength(response) + numberBytes * dimension;
