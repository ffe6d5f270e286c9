// Every decision is a row: questions that one would ask of a running system, in SQL.
import pc from "picocolors";
import { demoClient } from "../sample-data.ts";
import type { Scene } from "../scene.ts";
import { showQuery, untilCount } from "../sql.ts";

export const queries: Scene = async (context) => {
  const { screen, client } = context;
  screen.heading(
    "In ClickHouse",
    "Everything above is recorded, the road not taken included. All runs of the demo count.",
  );
  const recorded = await untilCount(
    context,
    1,
    `SELECT toUInt8(count() > 0 AND countIf(NOT answered) = 0) AS count FROM outcomes WHERE metadata['run'] = '${client.run}'`,
  );
  if (!recorded) screen.line(pc.yellow("not all of this run's rows are there yet"));

  await showQuery(
    context,
    "What each arm was asked, how likely that was, and what it took:",
    `
SELECT decided_arm AS arm, count() AS requests, round(avg(probability), 2) AS avg_probability,
       round(quantile(0.5)(total_ms)) AS median_ms, round(sum(cost), 6) AS cost
FROM outcomes
WHERE metadata['client'] = '${demoClient}'
GROUP BY arm
ORDER BY arm`,
  );
  await showQuery(
    context,
    "Which examples are shown most:",
    `
SELECT example.request, example.response, count() AS shown, round(avg(similarity), 2) AS avg_similarity
FROM example_uses AS use FINAL
JOIN examples AS example FINAL USING (example_id)
GROUP BY example.request, example.response
ORDER BY shown DESC, avg_similarity DESC
LIMIT 5`,
  );
};
