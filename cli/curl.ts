// The command line that asks the embedded ClickHouse with curl. The token stands in a file of the
// stack, not in the line: a command line is seen by every user of the machine, and kept in the
// shell's history.
import { stackFolder } from "../stack/folder.ts";

const quoted = (text: string): string => `'${text.replace(/'/g, "'\\''")}'`;

export function curlLine(folder: string, sql: string, database?: string): string {
  const inDatabase = database === undefined ? "" : ` -H ${quoted(`X-ClickHouse-Database: ${database}`)}`;
  return `curl -K ${quoted(stackFolder(folder).curl)}${inDatabase} --data-binary ${quoted(sql)}`;
}
