// Facts about an example that do not depend on the request. They are computed once and cached,
// because the same few examples are retrieved again and again. Pure.
import { dot } from "./embedding.ts";
import { type HashedTokens, hashTokens } from "../text/text-overlap.ts";
import { exampleTokens } from "../text/tokens.ts";

interface Texts {
  request: string;
  response: string;
}

export interface ExampleTraits {
  isUnit: boolean;
  isSafe: boolean;
  tokens: number;
  request: HashedTokens;
  response: HashedTokens;
}

/** Both texts together, characters: of longer ones they are made where one is needed. */
const longest = 8_192;

/** null: its texts are too long to be looked at before anybody needs them. */
export const traitsOf = ({ request, response }: Texts, vector: Float32Array): ExampleTraits | null =>
  request.length + response.length > longest
    ? null
    : {
        isUnit: isUnit(vector),
        isSafe: isSafe({ request, response }),
        tokens: exampleTokens(request, response),
        request: hashTokens(request),
        response: hashTokens(response),
      };

export const bytesOfTraits = (traits: ExampleTraits | null): number =>
  traits === null ? 0 : 256 + 8 * (traits.request.sorted.length + traits.response.sorted.length);

/** Whether the vector is of unit length; NaN is not. */
export function isUnit(vector: Float32Array): boolean {
  const length = dot(vector, vector);
  return length > 0.9 && length < 1.1;
}

/** Control characters other than tab and line ends. */
const control = /(?![\t\n\r])\p{Cc}/u;

/** Whether both are texts. Linear: ask only for those that fit a prompt. */
export const isSafe = ({ request, response }: Texts): boolean =>
  !control.test(request) && !control.test(response) && response.trim() !== "";
