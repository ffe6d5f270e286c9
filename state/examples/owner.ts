// One process owns an example store's folder; another one gets an error that names the owner.
import { takeFolder as take } from "../../connections/process/folder.ts";
import { PoolError } from "./port.ts";

/** Gives it back when called. PoolError folder_in_use while another has it. */
export async function takeFolder(folder: string): Promise<() => Promise<void>> {
  const taken = await take(folder, "examples");
  if (taken.heldBy === undefined) return taken.giveBack;
  throw new PoolError(
    "folder_in_use",
    `the example pool in ${folder} is held by process ${taken.heldBy}: end it, or give this one another folder`,
  );
}
