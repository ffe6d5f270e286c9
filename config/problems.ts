// What zod found wrong, in words that say where (key path), what, and what would be allowed.
import { z } from "zod";
import { nearest } from "../algorithms/text/nearest.ts";

/** Keys from the top, e.g. ["arms", 0, "type"]. */
export type Path = readonly (string | number)[];

export interface Problem {
  path: Path;
  what: string;
  allowed?: string;
}

/** arms[0].type */
export function pathText(path: Path): string {
  const text = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
  return text.replace(/^\./, "") || "(the whole file)";
}

/** Problems of one zod issue: one a key where keys are unknown. `data` is what was checked. */
export function problemsOf(schema: z.ZodType, data: unknown, issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map((key) => (typeof key === "symbol" ? String(key) : key));
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, data, path);
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      if (meant !== undefined) return { path: [...path, key], what: `unknown key; did you mean ${meant}?` };
      return {
        path: [...path, key],
        what: "unknown key",
        ...(known.length === 0 ? {} : { allowed: known.join(", ") }),
      };
    });
  }
  const value = valueAt(data, path);
  const missing = value === undefined && issue.code !== "custom";
  switch (issue.code) {
    case "invalid_type":
      return [{ path, what: missing ? "missing" : `is ${kindOf(value)}`, allowed: kindName(issue.expected) }];
    case "invalid_value":
      return [
        { path, what: missing ? "missing" : "not one of the choices", allowed: issue.values.map(String).join(", ") },
      ];
    case "invalid_union": {
      const branches = issue.errors.map((branch) =>
        branch.flatMap((inner) => problemsOf(schema, data, { ...inner, path: [...issue.path, ...inner.path] })),
      );
      // The branch that got furthest, such as the prices of an arm beside the word "catalogue".
      const furthest = branches.find((branch) => branch.some((inner) => inner.path.length > path.length));
      if (furthest !== undefined) return furthest;
      const options = "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
      const allowed = [...options, ...branches.flat().flatMap((inner) => inner.allowed ?? [])].join(", ");
      return [{ path, what: missing ? "missing" : "not one of the choices", allowed }];
    }
    case "too_small":
      return [
        {
          path,
          what: "too small",
          allowed: bound(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue.origin),
        },
      ];
    case "too_big":
      return [
        {
          path,
          what: "too large",
          allowed: bound(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue.origin),
        },
      ];
    case "invalid_format":
      return [
        {
          path,
          what: "wrong form",
          allowed:
            issue.format === "url" ? "a URL such as http://host:8080" : issue.message.replace(/^Invalid string: /, ""),
        },
      ];
    default:
      return [{ path, what: issue.message }];
  }
}

function bound(relation: string, limit: number | bigint, origin: string): string {
  const unit = origin === "array" ? " entries" : origin === "string" ? " characters" : "";
  return `${relation} ${limit}${unit}`;
}

function kindName(expected: string): string {
  if (expected === "int") return "a whole number";
  if (expected === "object" || expected === "record") return "a group of keys";
  if (expected === "array") return "a list";
  return expected === "boolean" ? "true or false" : `a ${expected}`;
}

/** Never the value: it may be a secret. */
function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a group of keys";
  if (typeof value === "number" && !Number.isFinite(value)) return "no finite number";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number with a fraction";
  return `a ${typeof value}`;
}

export function valueAt(data: unknown, path: readonly (string | number)[]): unknown {
  let at = data;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string | number, unknown>)[key];
  }
  return at;
}

/** Keys of the schema at a path; of a union the branch that the data names. */
function keysAt(schema: z.ZodType, data: unknown, path: readonly (string | number)[]): string[] {
  let at: unknown = schema;
  for (let depth = 0; depth <= path.length; depth++) {
    at = bare(at, valueAt(data, path.slice(0, depth)));
    if (depth === path.length) break;
    const key = path[depth];
    if (at instanceof z.ZodObject && typeof key === "string") at = (at.shape as Record<string, unknown>)[key];
    else if (at instanceof z.ZodArray) at = at.element;
    else return [];
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** Without defaults, and without what is done to the value afterwards. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return unwrapped(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrapped(schema.in) : schema;
}

function bare(schema: unknown, value: unknown): unknown {
  let at = unwrapped(schema);
  if (at instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = at.def;
    at = at.options.map(unwrapped).find((option) => {
      const literal =
        option instanceof z.ZodObject ? (option.shape as Record<string, unknown>)[discriminator] : undefined;
      return literal instanceof z.ZodLiteral && literal.values.has(valueAt(value, [discriminator]) as string);
    });
  }
  if (at instanceof z.ZodUnion) at = at.options.map(unwrapped).find((option) => option instanceof z.ZodObject);
  return at;
}
