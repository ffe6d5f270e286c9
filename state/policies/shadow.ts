// Router policies held in shadow: what each would choose is logged with every decision, and nothing
// of it is served. A few slots, each a name of its own on the topic `policies`, so that a shadow
// never stands in the way of the router's versions. A slot that was ended says so in its newest
// version.
import type { Policy } from "../../schemas/types.ts";
import type { InForce } from "./newest.ts";
import { policyRecord } from "./record.ts";
import { appendOnce, type Policies } from "./append.ts";
import { decodeRouterPolicy, type RouterPolicy } from "./router.ts";

/** Every one of them costs each decision what the router itself does. */
export const shadowNames = ["shadow/1", "shadow/2"] as const;
export const isShadow = (name: string): boolean => (shadowNames as readonly string[]).includes(name);

const ENDED_KIND = "ended@1";

export interface Shadow {
  name: string;
  policy: RouterPolicy;
}

/** What a slot's newest version says: its policy; null: it holds none; or why it can't be used. */
export function shadowOf(record: Policy): RouterPolicy | { problem: string } | null {
  return record.kind === ENDED_KIND ? null : decodeRouterPolicy(record);
}

export interface ShadowTable {
  /** Takes a record of the topic; others than of slots, and older ones, are ignored. */
  apply(record: Policy): void;
  /** A tombstone. */
  remove(name: string): void;
  /** Those that can be used, in the order of the slots. */
  current(): readonly Shadow[];
}

export function createShadowTable(): ShadowTable {
  const slots = new Map<string, Pick<InForce<object>, "version"> & { shadow: Shadow | null }>();
  let current: readonly Shadow[] = [];
  const renew = (): void => {
    current = shadowNames.flatMap((name) => slots.get(name)?.shadow ?? []);
  };
  return {
    apply(record) {
      const { name, version } = record;
      if (!isShadow(name) || version <= (slots.get(name)?.version ?? 0)) return;
      const policy = shadowOf(record);
      slots.set(name, { version, shadow: policy === null || "problem" in policy ? null : { name, policy } });
      renew();
    },
    remove(name) {
      if (slots.delete(name)) renew();
    },
    current: () => current,
  };
}

/** Publishes a router policy in the first free slot. Rejects when there is none. */
export async function holdInShadow(
  policies: Pick<Policies, "open">,
  { policy, now }: { policy: Policy; now: number },
): Promise<Policy> {
  for (const name of shadowNames) {
    const made = await appendOnce(policies, name, (version, newest) =>
      newest !== null && newest.kind !== ENDED_KIND
        ? null
        : policyRecord({ ...policy, name, version, revertOf: null, createdAt: now }),
    );
    if (made !== null) return made;
  }
  throw new Error(
    `${shadowNames.join(" and ")} are taken, and no more policies are held in shadow: precedent policy shadow end ${shadowNames[0]}`,
  );
}

/** Rejects where the slot holds no policy. */
export async function endShadow(policies: Pick<Policies, "open">, name: string, now: number): Promise<Policy> {
  const made = await appendOnce(policies, name, (version, newest) =>
    newest === null || newest.kind === ENDED_KIND
      ? null
      : policyRecord({ name, version, kind: ENDED_KIND, body: "{}", createdAt: now }),
  );
  if (made === null) throw new Error(`${name} holds no policy: precedent policy shadow list`);
  return made;
}
