// Partition assignment of our own: by partition index over all co-partitioned topics, sorted by the
// stable instance id and sticky, so that a join or a restart moves as little as can be
// (docs/design/delivery.md, Assignment).
import type { PartitionAssigner } from "kafkajs";
import type { ProcessHolder } from "../process/identity.ts";
import { internals } from "./kafkajs-internals.ts";

export interface AssignableMember {
  memberId: string;
  instance: string;
  /** Partition indexes that the member says it holds. */
  owned: readonly number[];
}

/** Gives every index in [0, partitions) to one member, evenly. Pure and deterministic. */
export function assignIndexes(members: readonly AssignableMember[], partitions: number): Map<string, number[]> {
  const sorted = [...members].sort((a, b) =>
    a.instance < b.instance ? -1 : a.instance > b.instance ? 1 : a.memberId < b.memberId ? -1 : 1,
  );
  const shares = new Map(sorted.map((member) => [member.memberId, [] as number[]]));
  if (sorted.length === 0) return shares;
  const floor = Math.floor(partitions / sorted.length);
  let larger = partitions % sorted.length; // how many members may hold floor + 1
  const taken = new Set<number>();
  const share = (member: AssignableMember): number[] => shares.get(member.memberId) ?? [];

  // Everybody keeps what it holds, up to a fair share; the larger shares go to those who hold most.
  const byHolding = [...sorted].sort((a, b) => b.owned.length - a.owned.length);
  for (const member of byHolding) {
    const mine = share(member);
    const keep = [...new Set(member.owned)].filter((index) => index >= 0 && index < partitions && !taken.has(index));
    const quota = keep.length > floor && larger > 0 ? floor + 1 : floor;
    if (quota === floor + 1) larger--;
    for (const index of keep.slice(0, quota)) {
      mine.push(index);
      taken.add(index);
    }
  }
  const free = Array.from({ length: partitions }, (_, index) => index).filter((index) => !taken.has(index));
  for (const index of free) {
    const smallest = sorted.reduce((a, b) => (share(b).length < share(a).length ? b : a));
    share(smallest).push(index);
  }
  for (const indexes of shares.values()) indexes.sort((a, b) => a - b);
  return shares;
}

export interface UserData {
  instance: string;
  owned: number[];
  /** Tells consumers of one process apart, and a process from the one before it. */
  life?: string;
  holder?: ProcessHolder;
}

/** owned: what this process holds now, asked for at every join. */
export function createAssigner(
  instance: string,
  owned: () => number[],
  who: Pick<UserData, "life" | "holder"> = {},
): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = internals.assignerProtocol;
  const name = "precedent-sticky-index";
  const version = 0;
  return ({ cluster }) => ({
    name,
    version,
    assign: ({ members, topics }) => {
      const counts = topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).length] as const);
      const shares = assignIndexes(
        members.map(({ memberId, memberMetadata }) => ({ memberId, ...readUserData(memberId, memberMetadata) })),
        Math.max(0, ...counts.map(([, count]) => count)),
      );
      return Promise.resolve(
        [...shares].map(([memberId, indexes]) => ({
          memberId,
          memberAssignment: MemberAssignment.encode({
            version,
            assignment: Object.fromEntries(
              counts.map(([topic, count]) => [topic, indexes.filter((index) => index < count)]),
            ),
          }),
        })),
      );
    },
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version,
        topics,
        userData: Buffer.from(JSON.stringify({ instance, owned: owned(), ...who } satisfies UserData)),
      }),
    }),
  });
}

/** What a member says in its join. */
export function readUserData(memberId: string, metadata: Buffer): UserData {
  try {
    const { MemberMetadata } = internals.assignerProtocol;
    const data = JSON.parse(MemberMetadata.decode(metadata).userData.toString()) as Partial<UserData>;
    return {
      instance: data.instance ?? memberId,
      owned: Array.isArray(data.owned) ? data.owned.map(Number) : [],
      ...(typeof data.life === "string" ? { life: data.life } : {}),
      ...(isHolder(data.holder) ? { holder: data.holder } : {}),
    };
  } catch {
    return { instance: memberId, owned: [] }; // a foreign member: it simply holds nothing yet
  }
}

const isHolder = (value: unknown): value is ProcessHolder => {
  if (typeof value !== "object" || value === null) return false;
  const { host, pid, started, space } = value as Record<string, unknown>;
  return [host, started, space].every((text) => typeof text === "string") && typeof pid === "number";
};
