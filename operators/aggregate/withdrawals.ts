// SQL of the rewards that new or restored withdrawals are about, by the day. {named:Array(String)}:
// ids of the withdrawals.
import { meant } from "../counting.ts";
import { inHours, inRange } from "./statements.ts";

export const selectNamed = `
SELECT DISTINCT ifNull(restores, withdrawal_id) AS id FROM withdrawals WHERE ${inRange("withdrawals")}`;

/** WITH-clause of `named`, as inForce of counting.ts. */
export const withNamed = `
  (
    SELECT groupArray((withdrawal_id, tenant, source, author, since, until)) FROM withdrawals
    WHERE has({named:Array(String)}, withdrawal_id)
  ) AS named`;

export const selectWithdrawnHours = `
WITH ${withNamed}
SELECT DISTINCT toUnixTimestamp(toStartOfHour(created_at)) AS hour FROM feedback WHERE ${meant("named")}`;

/** Requests with feedback that is meant, of the hours from firstHour to lastHour. */
export const withdrawnBetween = `
  WITH ${withNamed}
  SELECT request_id, tenant FROM feedback
  WHERE ${inHours} AND ${meant("named")}`;
