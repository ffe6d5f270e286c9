// Room for examples in an arm's prompt: its budget, and what the context window leaves, less a
// fifth, as tokens are estimated (algorithms/text/tokens.ts). Pure.
import { estimateTokens, exampleTokens, tokensPerTurn } from "../../algorithms/text/tokens.ts";
import type { Message } from "../../schemas/types.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";

export interface RoomyArm {
  tokenBudget?: number | undefined;
  contextTokens?: number | undefined;
  maxTokens: number;
  template: TemplateName;
  system?: string | undefined;
}

export interface RoomyRequest {
  messages: readonly Message[];
  documents: readonly string[];
  question: string;
  maxTokens: number | null;
}

const spare = 0.2;
/** No tokenizer in use makes fewer tokens of a text than one for so many characters. */
const charactersPerToken = 8;

/** Estimated tokens >= 0. budget: of an arm that names none. */
export function roomFor(arm: RoomyArm, request: RoomyRequest, budget: number): number {
  const wanted = arm.tokenBudget ?? budget;
  if (arm.contextTokens === undefined) return wanted;
  // What is asked for is sent, but an answer as long as the window leaves no prompt at all.
  const half = arm.contextTokens / 2;
  const most = arm.maxTokens < arm.contextTokens ? Math.max(arm.maxTokens, half) : half;
  const completion = Math.min(request.maxTokens ?? arm.maxTokens, most);
  const window = arm.contextTokens - completion;
  const conversation = [...request.messages.map(({ content }) => content), ...request.documents, arm.system ?? ""];
  // A conversation of a megabyte needs no exact count.
  const characters = conversation.reduce((sum, text) => sum + text.length, 0);
  if (characters > window * charactersPerToken) return 0;
  const used =
    conversation.reduce((sum, text) => sum + estimateTokens(text) + tokensPerTurn, 0) +
    templates[arm.template].overhead(request.question);
  return Math.max(0, Math.min(wanted, Math.floor((window - used) * (1 - spare))));
}

/** Tokens of an example, `known` if counted; Infinity if they can't fit into `most`. */
export function tokensWithin(example: { request: string; response: string }, most: number, known?: number): number {
  const { request, response } = example;
  if (request.length + response.length > most * charactersPerToken) return Infinity;
  return known ?? exampleTokens(request, response);
}
