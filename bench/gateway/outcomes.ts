// Whether every request that was sent is answered, recorded and paid for once. Pure.

export interface Outcomes {
  /** Requests answered, by system. */
  requests: Readonly<Record<string, number>>;
  /** Calls of the model, and questions among them, by system. */
  model_calls: Readonly<Record<string, { calls: number; questions: number }>>;
  /** Rows in ClickHouse and request ids among them, by table. */
  ours_recorded: Readonly<Record<string, { rows: number; ids: number }>>;
}

/**
 * Throws where a system answered what it didn't ask the model for, or ours lost or doubled a record
 * or a call: its figures would be of something else than what is said about it.
 */
export function checkOutcomes({ requests, model_calls, ours_recorded }: Outcomes): void {
  for (const [name, answered] of Object.entries(requests)) {
    const { calls, questions } = model_calls[name] ?? { calls: 0, questions: 0 };
    if (questions < answered)
      throw new Error(`${name} answered ${answered} questions and asked the model ${questions} of them`);
    if (name === "ours" && calls !== answered)
      throw new Error(`ours called the model ${calls} times for ${answered} questions`);
  }
  for (const [table, { rows, ids }] of Object.entries(ours_recorded))
    if (rows !== requests["ours"] || ids !== requests["ours"])
      throw new Error(`${table} has ${rows} rows of ${ids} requests; ${requests["ours"] ?? 0} were answered`);
}
