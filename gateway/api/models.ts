// Resolves the model that a client names: a configured alias (gateway.models); "auto", for which
// the router chooses the arm; the name of an arm; or the model of one or more arms.
import { covers, type Capability } from "../../algorithms/routing/passthrough.ts";
import type { ModelAlias } from "../../config/sections/gateway.ts";
import type { Served } from "./request.ts";
import { badRequest, ApiError, unknownModel } from "../errors.ts";

export interface NamedArm {
  name: string;
  model: string;
  /** What it declares to serve besides text. */
  capabilities?: readonly Capability[] | undefined;
  /** Whether its prompts contain examples. */
  examples?: boolean;
  /** Answers only requests that name no other arm. */
  experimental?: boolean | undefined;
  /** Answers lines of batches alone. */
  batch?: boolean | undefined;
}

const anyModel = "auto";

/** As OpenAI and as Anthropic have it. created: seconds since the epoch. */
export function modelList(arms: readonly NamedArm[], created: number, of: Aliases) {
  const data = namesOf(arms, of).map((id) => modelOf(id, created));
  return { object: "list", data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id };
}

/** Names that the caller may use. */
function namesOf(arms: readonly NamedArm[], { aliases = [], caller }: Aliases): string[] {
  const isAllowed = (arm: string): boolean => caller.arms?.includes(arm) ?? true;
  const own = aliases.filter((alias) => isFor(alias, caller) && (alias.arms?.some(isAllowed) ?? true));
  const names = arms.map(({ name }) => name).filter(isAllowed);
  return [...new Set([anyModel, ...names, ...own.map(({ name }) => name)])];
}

export const modelOf = (id: string, created: number) => ({
  ...{ id, object: "model", created, owned_by: "precedent" },
  ...{ type: "model", display_name: id, created_at: new Date(created * 1_000).toISOString(), lifecycle: "active" },
});

export interface Aliases {
  /** In configured order: the first match applies. */
  aliases?: readonly ModelAlias[] | undefined;
  /** arms: those that its key may use; null: any. A rotated key keeps its account. */
  caller: {
    tenant: string;
    arms: readonly string[] | null;
    keyId?: string | undefined;
    account?: string | undefined;
  };
}

const isFor = ({ tenants, keys }: ModelAlias, { tenant, keyId = "", account = "" }: Aliases["caller"]): boolean =>
  (tenants?.includes(tenant) ?? true) && (keys?.some((key) => key === keyId || key === account) ?? true);

/** Arms that a model allows, null for any, and its cost weight. Throws ApiError. */
export function resolveModel(
  model: string,
  arms: readonly NamedArm[],
  of: Aliases,
): { arms: string[] | null; costWeight: number | null } {
  const alias = of.aliases?.find((one) => isFor(one, of.caller) && fits(one.name, model));
  if (alias !== undefined) return { arms: alias.arms ?? null, costWeight: alias.costWeight ?? null };
  return { arms: armsOfModel(model, arms, of), costWeight: null };
}

/** Whether a text matches a pattern in which * is any text. */
export function fits(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

function armsOfModel(model: string, arms: readonly NamedArm[], of: Aliases): string[] | null {
  if (model === anyModel || model === "precedent") return null;
  const named = arms.filter(({ name }) => name === model);
  const found = (named.length > 0 ? named : arms.filter((arm) => arm.model === model)).map(({ name }) => name);
  if (found.length > 0) return found;
  throw unknownModel(
    `There is no model ${model.slice(0, 80)}; there are ${namesOf(arms, of).slice(0, 100).join(", ")}.`,
  );
}

/** Those that all lists allow; null is any. Throws ApiError where nothing is left. */
export function armsAllowed(...lists: readonly (readonly string[] | null)[]): string[] | null {
  const given = lists.filter((list) => list !== null);
  const [first, ...rest] = given;
  if (first === undefined) return null;
  const left = [...new Set(first)].filter((arm) => rest.every((list) => list.includes(arm)));
  if (left.length > 0) return left;
  throw new ApiError({
    status: 403,
    code: "arm_not_allowed",
    param: "model",
    message: "No arm is left that model, precedent.allow.arms and the key all allow.",
  });
}

export const servedBy = (arms: readonly NamedArm[]): Served =>
  new Set([
    ...arms.flatMap(({ capabilities = [] }) => capabilities),
    ...(arms.every((arm) => arm.examples !== true && arm.capabilities?.includes("parameters"))
      ? (["hints"] as const)
      : []),
  ]);

/** Throws ApiError where no arm that is allowed has all that the fields of the body require. */
export function checkCapable(
  allowed: readonly string[] | null,
  fields: ReadonlyMap<Capability, string>,
  arms: readonly NamedArm[],
): void {
  const named = arms.filter(({ name }) => allowed?.includes(name) ?? true);
  const ordinary = named.filter(({ experimental }) => experimental !== true);
  const left = ordinary.length > 0 ? ordinary : named;
  const lacks = ({ capabilities = [] }: NamedArm) => [...fields.keys()].filter((one) => !covers(capabilities, one));
  if (left.length === 0 || left.some((arm) => lacks(arm).length === 0)) return;
  const [missing] = left.map(lacks).sort((one, other) => one.length - other.length)[0] ?? [];
  const field = (missing && fields.get(missing)) ?? "";
  throw badRequest(
    `${field.slice(0, 200)} needs an arm that declares ${[...fields.keys()].join(" and ")}, and none that this request may use does.`,
    field.slice(0, 200),
    "unsupported_parameter",
  );
}
