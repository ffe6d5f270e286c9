// The client's name of a session: the requests of one conversation, task or visit.

/** Members of metadata; the first that is present counts. Table `requests` has them in SQL. */
export const sessionMembers = ["session", "session_id", "conversation_id"] as const;

/** Null: the request belongs to none. */
export const sessionOf = (metadata: Readonly<Record<string, string>>): string | null =>
  sessionMembers.map((name) => metadata[name]).find((name) => name !== undefined && name !== "") ?? null;
