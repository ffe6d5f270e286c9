// A commit of the past in a folder of its own, set up as a fresh clone is, for a run beside today's
// on the same machine. The folder is gone afterwards.
import { spawn, type StdioOptions } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Root of this checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Standard output of a command that ended well; what it says beside that goes to ours. */
export async function output(command: string, args: readonly string[], cwd: string): Promise<string> {
  const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
  const child = spawn(command, args, { cwd, stdio });
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
  return Buffer.concat(chunks).toString();
}

/** Rejects where the repository lacks the commit (a shallow clone does), or it can't be set up. */
export async function withCommit<Result>(commit: string, use: (folder: string) => Promise<Result>): Promise<Result> {
  const git = (...args: string[]): Promise<string> => output("git", args, root);
  await git("cat-file", "-e", `${commit}^{commit}`).catch(() => {
    throw new Error(`commit ${commit} is not here: "git fetch --unshallow" brings the past of a shallow clone`);
  });
  const parent = await mkdtemp(join(tmpdir(), "precedent-former-"));
  const folder = join(parent, "precedent");
  try {
    await git("worktree", "add", "--quiet", "--detach", folder, commit);
    // By its name in package.json: the file stood elsewhere in the past.
    await output("npm", ["run", "--silent", "setup"], folder);
    return await use(folder);
  } finally {
    await rm(parent, { recursive: true, force: true });
    await git("worktree", "prune");
  }
}
