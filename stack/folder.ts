// What lies where in a stack folder. Everything of the embedded stack is under it, so that deleting
// it is a clean slate.
import { join, resolve } from "node:path";

export interface StackFolder {
  root: string;
  /** Link to the downloaded Java servers in the cache. */
  servers: string;
  data: string;
  logs: string;
  state: string;
  /** What curl -K needs to ask ClickHouse: its address and the read token. */
  curl: string;
  lock: string;
}

export function stackFolder(folder: string): StackFolder {
  const root = resolve(folder);
  return {
    root,
    servers: join(root, "servers"),
    data: join(root, "data"),
    logs: join(root, "logs"),
    state: join(root, "stack.json"),
    curl: join(root, "curlrc"),
    lock: join(root, "supervisor.lock"),
  };
}
