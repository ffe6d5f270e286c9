// Entry of every worker thread: teaches it TypeScript (hooks are not inherited), then runs the
// module that was asked for.
import { workerData } from "node:worker_threads";
import { register } from "tsx/esm/api";

register();
await import(workerData.entry);
