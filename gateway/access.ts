// Who asks. The tenant is the API key's. As long as there are no keys only clients on this machine
// are served, as the tenant "default"; from the first key on every request needs one. It is looked
// at before the body is read. What is the operators' alone is open to them here without keys, and
// with keys to admin keys.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { adminPrefix, feedbackPath, isApi } from "./addresses.ts";
import type { Caller, Incoming } from "./caller.ts";
import { ApiError } from "./errors.ts";
import { isFeedbackToken, type FeedbackTokens } from "./feedback-token.ts";
import { accountOf } from "./keys/key.ts";
import type { KeyTable, ValidKey } from "./keys/table.ts";
import { localCaller } from "./local.ts";

/** Whose a request is: throws ApiError, also where its key has no request left. */
export type CallerOf = (incoming: Incoming) => Caller;

export function createAccess(keys: Pick<KeyTable, "find" | "size">): CallerOf {
  return function callerOf(incoming) {
    if (keys.size() === 0) return localCaller(incoming);
    const { key, limits } = findKey(keys, incoming);
    if (key.admin)
      throw new ApiError({
        ...{ status: 403, code: "admin_key" },
        message: "An admin key is of no tenant and asks nothing: use a key of a tenant.",
      });
    limits.request();
    const { id: keyId, tenant, arms, domains } = key;
    return { tenant, arms, domains, limits, keyId, account: accountOf(key) };
  };
}

/** Throws ApiError unless the caller is an operator. */
export type MustBeAdmin = (incoming: Incoming) => void;

export function createAdminAccess(keys: Pick<KeyTable, "find" | "size">): MustBeAdmin {
  return function mustBeAdmin(incoming) {
    if (keys.size() === 0) localCaller(incoming);
    else if (!findKey(keys, incoming).key.admin)
      throw new ApiError({
        ...{ status: 403, code: "admin_key_needed" },
        message: "This needs an admin key: precedent keys create --admin.",
      });
  };
}

/** Throws ApiError. */
function findKey(keys: Pick<KeyTable, "find">, incoming: Incoming): ValidKey {
  const valid = keys.find(bearerOf(incoming));
  if (valid !== null) return valid;
  // The same for every reason, so that no caller learns which keys there are or were.
  throw new ApiError({
    ...{ status: 401, code: "invalid_api_key" },
    message: "This API key is not valid: precedent keys list shows those that are.",
  });
}

export interface TokenAccess {
  /** Absent: no token is valid. */
  tokens: Pick<FeedbackTokens, "read"> | undefined;
  keys: Pick<KeyTable, "isValid">;
}

/** Accepts a response's feedback token as a key, while the key of its request is valid. */
export function createTokenAccess({ tokens, keys }: TokenAccess, otherwise: CallerOf): CallerOf {
  return function callerOf(incoming) {
    const text = bearerIn(incoming);
    if (text === undefined || !isFeedbackToken(text)) return otherwise(incoming);
    const allowed = tokens?.read(text) ?? null;
    if (allowed === null || (allowed.keyId !== null && !keys.isValid(allowed.keyId)))
      throw new ApiError({
        ...{ status: 401, code: "invalid_feedback_token" },
        message: "This feedback token is not valid, or not any more: a response has a new one.",
      });
    return { tenant: allowed.tenant, arms: [], domains: [], feedbackOn: allowed.requestId };
  };
}

export interface Access {
  callerOf: CallerOf;
  mustBeAdmin: MustBeAdmin;
  /** The caller of feedback, which needs no key where there is a token. */
  feedbackBy: CallerOf;
}

/** Asks at every request of the API, before its body is read; gives what routes ask by. */
export function addAccess(
  server: FastifyInstance,
  { callerOf, mustBeAdmin, feedbackBy }: Access,
): (incoming: FastifyRequest) => Caller {
  const callers = new WeakMap<FastifyRequest, Caller>();
  server.addHook("onRequest", (incoming, _reply, done) => {
    try {
      const { url } = incoming.routeOptions;
      if (url?.startsWith(adminPrefix) === true) mustBeAdmin(incoming);
      else if (isApi(url)) callers.set(incoming, (url === feedbackPath ? feedbackBy : callerOf)(incoming));
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  return (incoming) => {
    const caller = callers.get(incoming);
    if (caller === undefined) throw new Error(`the caller of ${incoming.method} ${incoming.url} was not determined`);
    return caller;
  };
}

/** Throws ApiError. */
function bearerOf(incoming: Incoming): string {
  const text = bearerIn(incoming);
  if (text !== undefined) return text;
  throw new ApiError({
    ...{ status: 401, code: "missing_api_key" },
    message: "This gateway has API keys: send one as Authorization: Bearer KEY, or as x-api-key.",
  });
}

/** Anthropic's clients send a key in a header of its own. */
function bearerIn({ headers: { authorization, "x-api-key": key } }: Incoming): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(typeof authorization === "string" ? authorization : "")?.[1];
  return bearer ?? (typeof key === "string" && /^\S+$/.test(key) ? key : undefined);
}
