// ${NAME} in a configuration, filled in from the environment, and kept out of messages.
import { isMap, isScalar, isSeq, type Document } from "yaml";
import type { Path, Problem } from "./problems.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Fills ${NAME} and ${NAME:-otherwise} into every string value; $${ stands for a plain ${. */
export function substitute(
  document: Document,
  environment: Environment,
  callsArms: boolean,
): { problems: Problem[]; secrets: string[] } {
  const problems: Problem[] = [];
  const secrets: string[] = [];
  const fill = (text: string, path: Path): string =>
    text.replace(/\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (whole, name?: string, otherwise?: string) => {
      if (name === undefined) return "${";
      const value = environment[name];
      if (value !== undefined && value !== "") {
        secrets.push(value);
        return value;
      }
      if (otherwise !== undefined) return otherwise;
      // A placeholder that is valid as a key, a name and an address.
      if (!callsArms && path[0] === "arms") return whole === text ? "http://unset.invalid" : "unset";
      problems.push({
        path,
        what: `environment variable ${name} is not set`,
        allowed: `set it, or write \${${name}:-value}`,
      });
      return whole;
    });
  const walk = (node: unknown, path: Path): void => {
    if (isScalar(node)) {
      if (typeof node.value === "string") node.value = fill(node.value, path);
    } else if (isSeq(node)) {
      node.items.forEach((item, index) => {
        walk(item, [...path, index]);
      });
    } else if (isMap(node)) {
      for (const { key, value } of node.items) walk(value, [...path, isScalar(key) ? String(key.value) : String(key)]);
    }
  };
  walk(document.contents, []);
  return { problems, secrets };
}

/** The message without the values that were filled in. */
export function hide(message: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret.length < 4 ? text : text.replaceAll(secret, "[secret]")), message);
}
