// What clients call a model: "auto", where the router chooses among the arms; the name of an arm;
// or the model behind one or more of them.
import type { Capability } from "../../algorithms/routing/passthrough.ts";
import { badRequest, ApiError } from "../errors.ts";

export interface NamedArm {
  name: string;
  model: string;
  /** What it declares to serve besides text. */
  capabilities?: readonly Capability[] | undefined;
}

const anyModel = "auto";

/** As OpenAI and as Anthropic have it. created: seconds since the epoch. */
export function modelList(arms: readonly NamedArm[], created: number) {
  const data = [anyModel, ...arms.map(({ name }) => name)].map((id) => modelOf(id, created));
  return { object: "list", data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id };
}

const modelOf = (id: string, created: number) => ({
  ...{ id, object: "model", created, owned_by: "precedent" },
  ...{ type: "model", display_name: id, created_at: new Date(created * 1_000).toISOString() },
});

/** Names of the arms that a model allows; null: any. Throws ApiError. */
export function armsOfModel(model: string, arms: readonly NamedArm[]): string[] | null {
  if (model === anyModel || model === "precedent") return null;
  const named = arms.filter(({ name }) => name === model);
  const found = (named.length > 0 ? named : arms.filter((arm) => arm.model === model)).map(({ name }) => name);
  if (found.length > 0) return found;
  throw new ApiError({
    status: 404,
    code: "model_not_found",
    param: "model",
    message: `There is no model ${model.slice(0, 80)}; there are ${[anyModel, ...arms.map(({ name }) => name)].join(", ")}.`,
  });
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

export const servedBy = (arms: readonly NamedArm[]): ReadonlySet<Capability> =>
  new Set(arms.flatMap(({ capabilities = [] }) => capabilities));

/** Throws ApiError where no arm that is allowed has all that the fields of the body require. */
export function checkCapable(
  allowed: readonly string[] | null,
  fields: ReadonlyMap<Capability, string>,
  arms: readonly NamedArm[],
): void {
  const left = arms.filter(({ name }) => allowed?.includes(name) ?? true);
  const lacks = ({ capabilities = [] }: NamedArm) => [...fields.keys()].filter((one) => !capabilities.includes(one));
  if (left.length === 0 || left.some((arm) => lacks(arm).length === 0)) return;
  const [missing] = left.map(lacks).sort((one, other) => one.length - other.length)[0] ?? [];
  const field = (missing && fields.get(missing)) ?? "";
  throw badRequest(
    `${field.slice(0, 200)} needs an arm that declares ${[...fields.keys()].join(" and ")}, and none that this request may use does.`,
    field.slice(0, 200),
    "unsupported_parameter",
  );
}
