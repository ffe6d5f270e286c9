// Entry of every worker process: as boot.mjs, and it ends when its parent does. Signals of the
// terminal are the parent's to answer.
import { currentBuild, load } from "./compiled.mjs";

process.on("disconnect", () => process.exit());
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
await load(JSON.parse(process.argv[2]).entry, currentBuild());
