import { expect, test } from "vitest";
import { inactiveCache, statFiles } from "./free-memory.ts";

test("of the page cache what is not in use, of the whole group where both are told", () => {
  expect(inactiveCache("anon 1\ninactive_anon 2\nactive_file 3\ninactive_file 4096\n")).toBe(4_096);
  expect(inactiveCache("inactive_file 1\ntotal_inactive_file 20\n")).toBe(20);
  for (const unknown of ["", "inactive_file\n", "inactive_file x\n", "old_inactive_file 5\n"])
    expect(inactiveCache(unknown)).toBe(0);
});

test("the file is that of the process's own group, then that of the container, by both versions", () => {
  expect(statFiles("0::/user.slice/a.scope\n").slice(1)).toEqual([
    "/sys/fs/cgroup/user.slice/a.scope/memory.stat",
    "/sys/fs/cgroup/memory.stat",
  ]);
  expect(statFiles("12:cpu,cpuacct:/c\n4:memory:/docker/1\n0::/\n")).toEqual([
    "/sys/fs/cgroup/memory/docker/1/memory.stat",
    "/sys/fs/cgroup/memory/memory.stat",
    "/sys/fs/cgroup/memory.stat",
  ]);
  expect(statFiles("")).toEqual(["/sys/fs/cgroup/memory/memory.stat", "/sys/fs/cgroup/memory.stat"]);
});
