// Commands that ask the running system something open its connections and close them again.
import type { Command } from "commander";
import { openSession, type Session } from "../pipelines/session.ts";
import { createLog } from "../runtime/log.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export async function withSession(
  command: Command,
  io: Io,
  work: (session: Session) => Promise<void>,
  level: "warn" | "error" = "error",
): Promise<void> {
  const { config } = configOf(command, io);
  const session = await openSession(config, { log: createLog({ level }), start: false });
  await work(session).finally(() => session.close());
}

export const printWithSession = (
  command: Command,
  io: Io,
  work: (session: Session) => Promise<string>,
): Promise<void> => withSession(command, io, async (session) => io.out(await work(session)));
