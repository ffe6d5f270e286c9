// What a configuration's data says, and every problem in it.
import { pathText, problemsOf, valueAt, type Path, type Problem } from "./problems.ts";
import { configShape, refuseSenseless, type Config } from "./schema.ts";

/** Wrong keys are reported, then left out, so that what the others say is checked, too. */
export function readWhole(data: unknown): { config: Config | undefined; found: Problem[] } {
  const shaped = configShape.safeParse(data);
  const issues = (shaped.error?.issues ?? []).flatMap((issue) => problemsOf(configShape, data, issue));
  // Too large for a whole number is too large for its key, too.
  const found = issues.filter(
    ({ path, what }, at) =>
      !issues.slice(at + 1, at + 2).some((next) => pathText(next.path) === pathText(path) && next.what === what),
  );
  const paths = found.map(({ path }) => path);
  const some = without(data, paths);
  let rest = shaped.success ? shaped : configShape.safeParse(some);
  if (!rest.success)
    rest = configShape.safeParse(
      without(
        some,
        rest.error.issues.map(({ path }) => whole(path)),
      ),
    );
  if (!rest.success) return { config: undefined, found };
  const wrong = new Set(paths.map((path) => pathText(whole(path))));
  refuseSenseless(rest.data, (path, what) => {
    // Within a section it may only follow from what was left out.
    if (ofArms.has(String(path[0])) || !wrong.has(pathText(whole(path)))) found.push({ path, what });
  });
  return { config: rest.data, found };
}

/** Sections of which only names of arms are compared with others. */
const ofArms = new Set(["routing", "learn", "curate"]);

/** The arm or section that a key is in. */
const whole = (path: readonly PropertyKey[]): Path => path.slice(0, path[0] === "arms" ? 2 : 1) as Path;

/** An arm is left out by one that has its name and nothing else. */
function without(data: unknown, paths: readonly Path[]): unknown {
  const copy: unknown = structuredClone(data);
  for (const path of paths) {
    const parent = valueAt(copy, path.slice(0, -1));
    const last = path.at(-1);
    if (typeof parent !== "object" || parent === null || last === undefined) continue;
    const name = valueAt(parent, [last, "name"]);
    if (!Array.isArray(parent)) Reflect.deleteProperty(parent, last);
    else if (path.length === 2) parent[Number(last)] = { name, type: "llama" } as unknown;
  }
  return copy;
}
