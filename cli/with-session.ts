// A command that asks the running system something: opens its connections, prints what comes of it,
// closes them.
import type { Command } from "commander";
import { openSession, type Session } from "../pipelines/session.ts";
import { createLog } from "../runtime/log.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export async function printWithSession(
  command: Command,
  io: Io,
  work: (session: Session) => Promise<string>,
): Promise<void> {
  const { config } = configOf(command, io);
  const session = await openSession(config, { log: createLog({ level: "error" }), start: false });
  try {
    io.out(await work(session));
  } finally {
    await session.close();
  }
}
