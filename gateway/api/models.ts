// What clients call a model: "auto", where the router chooses among the arms; the name of an arm;
// or the model behind one or more of them.
import { ApiError } from "../errors.ts";

export interface NamedArm {
  name: string;
  /** As its endpoint calls it. */
  model: string;
}

const anyModel = "auto";

/** created: seconds since the epoch. */
export const modelList = (arms: readonly NamedArm[], created: number) => ({
  object: "list",
  data: [anyModel, ...arms.map(({ name }) => name)].map((id) => modelOf(id, created)),
});

const modelOf = (id: string, created: number) => ({ id, object: "model", created, owned_by: "precedent" });

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
