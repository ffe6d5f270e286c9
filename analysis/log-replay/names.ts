// Where a log replay has what it makes: folder, databases, topics. Nothing live bears such a name.
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";

export const logReplaysFolder = (config: Config): string => join(config.stack.folder, "log-replays");
export const folderOf = (config: Config, id: string): string => join(logReplaysFolder(config), id);
/** lane: of one policy; absent: of the log. */
export const databaseOf = (config: Config, id: string, lane?: number): string =>
  `${config.clickhouse.database}_log_log_replay_${id}${lane === undefined ? "" : `_${lane + 1}`}`;
export const prefixOf = (config: Config, id: string): string => `${config.kafka.prefix}log-replay-${id}.`;
