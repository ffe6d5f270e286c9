// n answers to one request: the first is answered as any request, the others by the same arm, each
// a separate request with its own id, record and price.
import type { Request, Response, Usage } from "../schemas/types.ts";
import type { Ask } from "./ask.ts";

export interface Several {
  /** Asks for all; resolves with the first, which then has the sums of tokens and cost. */
  ask: Ask;
  /** Those after the first, once it has resolved. */
  others(): readonly Response[];
}

/**
 * count: how many, at least 2. onAnother is called for each further one before any is asked for, so
 * that none is paid for in vain; what it throws, or a failure of one, is that of all.
 */
export function askSeveral(ask: Ask, count: number, onAnother: () => void): Several {
  let others: readonly Response[] = [];
  return {
    others: () => others,
    async ask(request, options) {
      for (let further = 1; further < count; further++) onAnother();
      const part = partOf(request, count);
      const first = await ask(part, options);
      if (first.status !== "ok") return first;
      const { onDelta: _onDelta, ...quiet } = options;
      const rest = await Promise.all(
        Array.from({ length: count - 1 }, (_, index) => ask(another(part, first, index + 1), quiet)),
      );
      const failed = rest.find(({ status }) => status !== "ok");
      if (failed !== undefined) return failed;
      others = rest;
      const all = [first, ...rest];
      return { ...first, usage: sum(all.map(({ usage }) => usage)), cost: all.reduce((of, { cost }) => of + cost, 0) };
    },
  };
}

type Asked = Request & { id: string };

/** Answers are samples: no cache is used, and maxCost is divided among them. */
const partOf = (request: Asked, count: number): Asked => ({
  ...request,
  allow: { ...request.allow, maxCost: request.allow.maxCost === null ? null : request.allow.maxCost / count },
  privacy: { ...request.privacy, fresh: true },
});

function another(request: Asked, { arm }: Response, index: number): Asked {
  const { seed } = request.params;
  return {
    ...request,
    id: `${request.id}-${index}`,
    params: { ...request.params, seed: seed === null ? null : seed + index },
    allow: { ...request.allow, arms: arm === null ? request.allow.arms : [arm] },
    ...{ deltas: false, mayAsk: false, mayCompare: false },
  };
}

function sum(usages: readonly Usage[]): Usage {
  const [first, ...rest] = usages as [Usage, ...Usage[]];
  return rest.reduce((all, one) => {
    const counts = Object.entries(all).map(([name, count]) => {
      const more = one[name as keyof Usage];
      return [name, typeof count === "number" && typeof more === "number" ? count + more : count || more] as const;
    });
    return Object.fromEntries(counts) as unknown as Usage;
  }, first);
}
