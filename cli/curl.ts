// The curl command line for the embedded ClickHouse. It reads the token from a file of the stack,
// because a command line is visible to every user of the machine and stays in the shell's history.
import { stackFolder } from "../stack/folder.ts";

const quoted = (text: string): string => `'${text.replace(/'/g, "'\\''")}'`;

export function curlLine(folder: string, sql: string, database?: string): string {
  const inDatabase = database === undefined ? "" : ` -H ${quoted(`X-ClickHouse-Database: ${database}`)}`;
  return `curl -K ${quoted(stackFolder(folder).curl)}${inDatabase} --data-binary ${quoted(sql)}`;
}
