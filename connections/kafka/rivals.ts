// Other living members of a group that claim this process' instance id. Members report their
// process when they join (assigner.ts); a stable group shows it to all members.
import type { Admin } from "kafkajs";
import type { ProcessHolder } from "../process/identity.ts";
import { readUserData } from "./assigner.ts";

/** Who this process is, and whether another one is dead for certain. */
export interface Holders {
  mine: ProcessHolder;
  isDead(holder: ProcessHolder): boolean;
}

export interface RivalsOptions {
  group: string;
  instance: string;
  /** Tells the consumers of one process apart. */
  life: string;
  isDead: Holders["isDead"];
}

/** One line each; undefined while the group is being reassigned and says nothing. */
export async function rivalsOf(admin: Admin, options: RivalsOptions): Promise<string[] | undefined> {
  const { group, instance, life, isDead } = options;
  const { groups } = await admin.describeGroups([group]);
  const found = groups[0];
  if (found === undefined || found.state === "Dead" || found.state === "Empty") return [];
  if (found.state !== "Stable") return undefined;
  return found.members
    .map(({ memberId, memberMetadata, clientHost }) => ({ clientHost, ...readUserData(memberId, memberMetadata) }))
    .filter((member) => member.instance === instance && member.life !== life)
    .filter(({ holder }) => holder === undefined || !isDead(holder))
    .map(({ holder, clientHost }) =>
      holder === undefined ? `a process at ${clientHost}` : `process ${holder.pid} on ${holder.host} (${clientHost})`,
    );
}
