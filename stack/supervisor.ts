// Entry of the supervisor: node tools/bin/run.mjs stack/supervisor.ts --folder FOLDER. Exit codes:
// 0 stopped, 1 a server failed, 2 wrong call, 3 a stack runs here already.
import { realpath } from "node:fs/promises";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { messageOf } from "../connections/errors.ts";
import { stackFolder } from "./folder.ts";
import { ensureServers } from "./install.ts";
import { supervise, StackRunsAlready, type Stack } from "./supervise.ts";

const { values } = parseArgs({ options: { folder: { type: "string" } } });
if (values.folder === undefined) {
  process.stderr.write("usage: supervisor.ts --folder FOLDER\n");
  process.exit(2);
}
const folder = stackFolder(values.folder).root;
const logger = pino({ base: { supervisor: process.pid } }, pino.destination({ fd: 1, sync: true }));

let stack: Stack | undefined;
let ending = false;
async function finish(code: number, failure?: string): Promise<void> {
  if (ending) return;
  ending = true;
  try {
    await stack?.stop(failure);
    logger.info({ code }, "stopped");
  } catch (error) {
    logger.error(error, "stopping failed");
  }
  process.exit(code);
}
process.on("SIGTERM", () => void finish(0));
process.on("SIGINT", () => void finish(0));
// The terminal that started it may close.
process.on("SIGHUP", () => undefined);
process.on("uncaughtException", (error) => {
  logger.error(error, "a bug in the supervisor");
  void finish(1, error.message);
});

try {
  stack = await supervise({
    folder,
    // Not the link: archives of classes hold the paths of the jars.
    servers: await realpath(await ensureServers(folder)),
    log: (message, details) => logger.info(details ?? {}, message),
    failed: (reason) => void finish(1, reason),
  });
  await stack.ready;
  logger.info({ folder }, "the stack is ready");
} catch (error) {
  if (error instanceof StackRunsAlready) {
    process.stderr.write(`${error.message}\n`);
    process.exit(3);
  }
  logger.error(error, "the stack can't be started");
  await finish(1, messageOf(error));
}
