// Commands that ask the running system something open its connections and close them again.
import type { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { openSession, type Session } from "../pipelines/session.ts";
import { createLog } from "../runtime/log.ts";
import type { Io } from "./io.ts";
import { runningConfig, tell, whereElse } from "./running-config.ts";

type Work<T> = (session: Session) => Promise<T>;

interface Opening {
  /** Starts the embedded stack if none runs. */
  start?: boolean;
  /** false: ClickHouse may be away. Default true. */
  tables?: boolean;
  level?: "warn" | "error";
}

export function openRunning(
  config: Config,
  io: Io,
  { start = false, tables = true, level = "error" }: Opening = {},
): Promise<Session> {
  const log = createLog({ level });
  return openSession(config, { log, start, tables, say: tell(io), endsOnRefusal: true }).catch(whereElse(config));
}

export async function withSession(command: Command, io: Io, work: Work<void>, opening: Opening = {}): Promise<void> {
  const session = await openRunning(runningConfig(command, io), io, opening);
  await work(session).finally(() => session.close());
}

/** For what Kafka and the registry are enough. */
export const withKafka = (command: Command, io: Io, work: Work<void>): Promise<void> =>
  withSession(command, io, work, { tables: false });

const printing =
  (io: Io, work: Work<string>): Work<void> =>
  async (session) =>
    io.out(await work(session));

export const printWithSession = (command: Command, io: Io, work: Work<string>): Promise<void> =>
  withSession(command, io, printing(io, work));

export const printWithKafka = (command: Command, io: Io, work: Work<string>): Promise<void> =>
  withKafka(command, io, printing(io, work));
