// Node 20 (V8 11) gives each object of `{ ...a, b }` a hidden class of its own: making it takes
// microseconds, and so does every read of it later, as nothing that was learnt of another holds.
// Behind any first member it does not. That member sets the prototype that the object has anyway.
// From Node 22 on (V8 12) there is nothing to mend.
import { parse } from "acorn";

export const needed = Number(process.versions.v8.split(".")[0]) < 12;

/** Declares what `settled` inserts; at the head of each module. */
export const declaration = "const $objectPrototype = Object.prototype;";
const inserted = "__proto__: $objectPrototype, ";

/** An ES module with every `{ ...a, b }` written anew, on the same lines. */
export function settled(code) {
  const starts = [];
  const pending = [parse(code, { ecmaVersion: "latest", sourceType: "module" })];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === "ObjectExpression" && isSlow(node.properties)) starts.push(node.start + 1);
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof child?.type === "string") pending.push(child);
  }
  starts.sort((one, other) => one - other);
  return [0, ...starts].map((from, i) => (i === 0 ? "" : inserted) + code.slice(from, starts[i])).join("");
}

/** A second member that sets the prototype would be an error. */
const isSlow = ([first, ...others]) =>
  first?.type === "SpreadElement" &&
  others.length > 0 &&
  !others.some(({ key, computed, shorthand }) => !computed && !shorthand && (key?.name ?? key?.value) === "__proto__");
