// Which process holds an instance id, as members report it to their consumer groups, and whether
// that process is certainly dead. This is only known within this machine and pid namespace.
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { identify, type ProcessHolder } from "../connections/process/identity.ts";

export function holderOf(pid = process.pid): ProcessHolder {
  return { host: hostname(), pid, started: identify(pid)?.started ?? "", space: pidSpace() };
}

export function isDead(holder: ProcessHolder): boolean {
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
