// node tools/bin/run.mjs FILE.ts [ARGUMENT...]: runs one of our TypeScript files as a program, compiled
// where it can be (compile.mjs), through tsx where not.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureCompiled } from "./compile.mjs";
import { load } from "../../connections/worker/compiled.mjs";

const file = resolve(process.argv[2] ?? "");
// As if it had been started itself.
process.argv.splice(1, 2, file);
await load(pathToFileURL(file).href, await ensureCompiled());
