// Which process holds an instance id, as members report it to their consumer groups, and whether
// that process is certainly dead. This is only known within this machine and pid namespace.
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { identify } from "../connections/process/identity.ts";

export interface Holder {
  host: string;
  pid: number;
  /** Unique to one life of one process, with the boot's id; empty: not known. */
  started: string;
  /** The namespace that the pid counts in; empty: not known. */
  space: string;
}

export function holderOf(pid = process.pid): Holder {
  return { host: hostname(), pid, started: identify(pid)?.started ?? "", space: pidSpace() };
}

export function isDead(holder: Holder): boolean {
  const me = holderOf();
  const bootOf = (started: string): string => started.split("@")[1] ?? "";
  const near =
    me.space !== "" &&
    me.space === holder.space &&
    me.host === holder.host &&
    bootOf(me.started) !== "" &&
    bootOf(me.started) === bootOf(holder.started);
  return near && identify(holder.pid)?.started !== holder.started;
}

function pidSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
