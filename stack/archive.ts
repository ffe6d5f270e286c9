// Archives of loaded classes (AppCDS), which halve the start of the Java servers.
import { createHash } from "node:crypto";
import { access, constants, mkdir, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { identify } from "../connections/process/identity.ts";

export interface ClassArchive {
  /** For the command line of java; none when there is no archive and none can be written. */
  options: string[];
  /** The same for a process that ends soon, and so writes none. */
  shortLived: string[];
  /** Called after the server has ended: keeps what a clean end has written. */
  keep(clean: boolean): Promise<void>;
}

const quiet = "-Xlog:disable -Xlog:all=error:stderr".split(" ");

/** `servers`: the real path. An archive is good for one `signature` of java and jars. */
export async function classArchive(servers: string, name: string, signature: readonly string[]): Promise<ClassArchive> {
  const nothing: ClassArchive = { options: [], shortLived: [], keep: () => Promise.resolve() };
  const java = await findJava();
  if (java === undefined) return nothing;
  const hash = createHash("sha256")
    .update([java, ...signature].join("\n"))
    .digest("hex")
    .slice(0, 12);
  const folder = join(servers, "archives");
  const file = join(folder, `${name}-${hash}.jsa`);
  try {
    await mkdir(folder, { recursive: true });
    await removeOldDrafts(folder);
    if (await stat(file).catch(() => undefined)) {
      const options = [`-XX:SharedArchiveFile=${file}`, "-Xshare:auto", ...quiet];
      return { ...nothing, options, shortLived: options };
    }
    await access(folder, constants.W_OK);
  } catch {
    return nothing;
  }
  const draft = `${file}.${process.pid}.draft`;
  return {
    ...nothing,
    options: [`-XX:ArchiveClassesAtExit=${draft}`, ...quiet],
    async keep(clean) {
      // Two stacks may end at the same time: both archives are good, the last one stays.
      if (clean) await rename(draft, file).catch(() => undefined);
      await rm(draft, { force: true });
    },
  };
}

/** Path, size and time of the java that would run: a new one needs a new archive. */
async function findJava(): Promise<string | undefined> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    try {
      const path = await realpath(join(folder, "java"));
      const { size, mtimeMs } = await stat(path);
      return `${path} ${size} ${mtimeMs}`;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Removes drafts of killed supervisors: `<archive>.<pid>.draft`. */
async function removeOldDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(/\.(\d+)\.draft$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isInteger(pid) && identify(pid) === undefined) await rm(join(folder, name), { force: true });
  }
}
