// A key's limits: spend limits (spend-limits.ts), and this gateway's share of those a minute.
// Tokens are taken by an estimate, corrected by the usage.
import { estimateTokens, tokensPerTurn } from "../../algorithms/text/tokens.ts";
import { createTokenBucket } from "../../algorithms/queueing/token-bucket.ts";
import type { ApiKey, Delta, Request, Response } from "../../schemas/types.ts";
import type { Ask, AskOptions } from "../ask.ts";
import { ApiError } from "../errors.ts";
import type { SpendLimited, HoldSpending } from "./spend-limits.ts";

export type Limited = Pick<ApiKey, "requestsPerMinute" | "tokensPerMinute"> & SpendLimited;

export type KeyLimits = ReturnType<typeof createKeyLimits>;

export interface LimitsDependencies {
  gateways: () => number;
  holdSpending: HoldSpending;
  /** Tokens of one call at most, as they are estimated. */
  mostTokens: (request: Parameters<Ask>[0]) => number;
  clock: () => number;
}

/** `limited`: read at every request, for it may change. */
export function createKeyLimits(
  limited: () => Limited,
  { gateways, holdSpending, mostTokens, clock }: LimitsDependencies,
) {
  const requests = createTokenBucket();
  const tokens = createTokenBucket();
  const share = (perMinute: number): number => Math.max(1, perMinute) / Math.max(1, gateways());

  async function askWithinTokens(ask: Ask, request: Parameters<Ask>[0], options: AskOptions): Promise<Response> {
    const { tokensPerMinute } = limited();
    if (tokensPerMinute === null) return ask(request, options);
    const mine = share(tokensPerMinute);
    const taken = Math.min(mine, mostTokens(request));
    const wait = tokens.take(taken, clock(), mine);
    if (wait > 0) throw exceeded("tokens", tokensPerMinute, wait);
    const setRight = (used: number): void => tokens.correct(used - taken, clock(), share(tokensPerMinute));
    const { onDelta } = options;
    let read = 0;
    const counted = (delta: Delta): void => {
      read += estimateTokens(delta.text) + estimateTokens(delta.thoughts?.text ?? "");
      for (const call of delta.calls) read += estimateTokens(call.arguments);
      onDelta?.(delta);
    };
    try {
      const response = await ask(request, onDelta === undefined ? options : { ...options, onDelta: counted });
      setRight(usedBy(response));
      return response;
    } catch (error) {
      // What was not sent used nothing. What a client did not wait for, at least what it read.
      setRight(isSent(error) ? Math.max(taken, estimateOf(request) + read) : 0);
      throw error;
    }
  }

  return {
    /** Counts a request. Throws ApiError. */
    request(): void {
      const { requestsPerMinute } = limited();
      if (requestsPerMinute === null) return;
      const wait = requests.take(1, clock(), share(requestsPerMinute));
      if (wait > 0) throw exceeded("requests", requestsPerMinute, wait);
    },
    /**
     * Counts tokens of what is answered without `ask`, a minute's worth at most. Throws ApiError.
     */
    tokens(count: number): void {
      const { tokensPerMinute } = limited();
      if (tokensPerMinute === null) return;
      const mine = share(tokensPerMinute);
      const wait = tokens.take(Math.min(mine, count), clock(), mine);
      if (wait > 0) throw exceeded("tokens", tokensPerMinute, wait);
    },
    /** Asks within spend limits and tokens a minute; rejects with ApiError beyond. */
    within: (ask: Ask): Ask =>
      async function askWithin(request, options) {
        const giveBack = await holdSpending(limited(), request);
        try {
          const response = await askWithinTokens(ask, request, options);
          giveBack();
          return response;
        } catch (error) {
          // What was sent goes on, though no client waits for it.
          if (!isSent(error)) giveBack();
          throw error;
        }
      },
  };
}

/** No place, another request's key, or no broker. */
const unsent = new Set([422, 429, 503]);
const isSent = (error: unknown): boolean => !(error instanceof ApiError && unsent.has(error.status));

/** Tokens of the messages. */
const estimateOf = ({ messages }: Pick<Request, "messages">): number =>
  messages.reduce((sum, { content }) => sum + estimateTokens(content) + tokensPerTurn, 0);

/** A copy of the first response costs nothing. */
const usedBy = ({ duplicate, usage }: Pick<Response, "duplicate" | "usage">): number =>
  duplicate ? 0 : usage.prompt + usage.completion;

function exceeded(what: "requests" | "tokens", perMinute: number, waitMs: number): ApiError {
  const retryAfter = Math.min(86_400, Math.ceil(waitMs / 1_000));
  return new ApiError({
    ...{ status: 429, code: "rate_limit_exceeded", retryAfter },
    message: `This key may use ${perMinute} ${what} a minute over all gateways: try again in ${retryAfter} s.`,
  });
}
