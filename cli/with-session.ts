// Commands that ask the running system something open its connections and close them again.
import type { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { openSession, type Session } from "../pipelines/session.ts";
import { createLog } from "../runtime/log.ts";
import type { Io } from "./io.ts";
import { runningConfig, tell, whereElse } from "./running-config.ts";

/** start: starts the embedded stack if none runs. */
export function openRunning(
  config: Config,
  io: Io,
  { start = false, level = "error" }: { start?: boolean; level?: "warn" | "error" } = {},
): Promise<Session> {
  return openSession(config, { log: createLog({ level }), start, say: tell(io) }).catch(whereElse(config));
}

export async function withSession(
  command: Command,
  io: Io,
  work: (session: Session) => Promise<void>,
  level: "warn" | "error" = "error",
): Promise<void> {
  const session = await openRunning(runningConfig(command, io), io, { level });
  await work(session).finally(() => session.close());
}

export const printWithSession = (
  command: Command,
  io: Io,
  work: (session: Session) => Promise<string>,
): Promise<void> => withSession(command, io, async (session) => io.out(await work(session)));
