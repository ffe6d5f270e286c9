// Entry of every worker thread: runs the module that was asked for, compiled where a current build
// has it, and through tsx where not (hooks are not inherited).
import { workerData } from "node:worker_threads";
import { currentBuild, load } from "./compiled.mjs";

await load(workerData.entry, currentBuild());
