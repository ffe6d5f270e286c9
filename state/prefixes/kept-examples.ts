// The examples of conversations, so that a later turn's prompt begins with the whole prompt of the
// turn before. They are in this process's memory only. After a restart, or in another process, a
// turn's examples are selected again. Bounded in total, by domain and by time.

/** An example as it was shown; the pool has its texts. */
export interface KeptExample {
  id: string;
  similarity: number;
  helpfulness: number;
  tokens: number;
}

export interface KeptPrompt {
  arm: string;
  examples: readonly KeptExample[];
}

export type KeptExamples = ReturnType<typeof createKeptExamples>;

export interface KeptBounds {
  /** Conversations. */
  most: number;
  mostOfDomain: number;
  /** Milliseconds since the conversation's last turn. */
  timeToLive: number;
}

interface Entry extends KeptPrompt {
  at: number;
}

export function createKeptExamples({ most, mostOfDomain, timeToLive }: KeptBounds, clock: () => number) {
  // Both maps are in LRU order, the least recent first.
  const domains = new Map<string, Map<string, Entry>>();
  let size = 0;

  const dropOldest = (domain: string, entries: Map<string, Entry>): void => {
    const [oldest] = entries.keys();
    if (oldest !== undefined && entries.delete(oldest)) size--;
    if (entries.size === 0) domains.delete(domain);
  };

  return {
    /**
     * Examples of the conversation's last prompt, if that arm got it; undefined: none or expired.
     */
    of(domain: string, conversation: string, arm: string): KeptPrompt | undefined {
      const entry = domains.get(domain)?.get(conversation);
      return entry === undefined || entry.arm !== arm || entry.at + timeToLive < clock() ? undefined : entry;
    },
    keep(domain: string, conversation: string, prompt: KeptPrompt): void {
      const entries = domains.get(domain) ?? new Map<string, Entry>();
      domains.delete(domain);
      domains.set(domain, entries);
      if (!entries.delete(conversation)) size++;
      entries.set(conversation, { ...prompt, at: clock() });
      if (entries.size > mostOfDomain) dropOldest(domain, entries);
      const [first] = domains;
      if (size > most && first !== undefined) dropOldest(...first);
    },
  };
}
