// Which feedback counts, as SQL for learn and curate: not withdrawn, not above its hour's limits
// (docs/learning.md). The view feedback_status shows it.

/** WITH-clause of `inForce`: withdrawals that nothing restores. */
export const withWithdrawals = `
    (
      SELECT (
        groupArrayIf((withdrawal_id, tenant, source, author, since, until), restores IS NULL),
        groupArrayIf(assumeNotNull(restores), restores IS NOT NULL))
      FROM withdrawals FINAL
    ) AS saidWithdrawals,
    arrayFilter(one -> NOT has(saidWithdrawals.2, one.1), saidWithdrawals.1) AS inForce`;

/** Whether one of the withdrawals in `those` (as in inForce) is about a row of feedback. */
export const meant = (those: string): string => `
  arrayExists(one ->
    ifNull(one.2, tenant) = tenant AND ifNull(one.3, source) = source AND ifNull(one.4, author) = author
      AND created_at >= ifNull(one.5, created_at) AND (one.6 IS NULL OR created_at < assumeNotNull(one.6)),
    ${those})`;

/** Whether a feedback's source counts; `requests`: those looked at. Needs withWithdrawals. */
export const sourceCounts = (requests: string): string => `
  NOT ${meant("inForce")} AND (request_id, tenant, feedback_id) NOT IN (
    SELECT request_id, tenant, feedback_id FROM feedback_excess FINAL
    WHERE excess AND (request_id, tenant) IN (${requests}))`;
