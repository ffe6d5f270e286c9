// Entry of every worker process: as boot.mjs, and it ends when its parent does. Signals of the
// terminal are the parent's to answer.
import { register } from "tsx/esm/api";

process.on("disconnect", () => process.exit());
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
register();
await import(JSON.parse(process.argv[2]).entry);
