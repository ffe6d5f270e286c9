// Every decision is a row: questions that one would ask of a running system, in SQL.
import pc from "picocolors";
import type { Scene } from "../scene.ts";
import { showQuery, untilCount } from "../sql.ts";

export const queries: Scene = async (context) => {
  const { screen, client, stages } = context;
  screen.heading(
    "In ClickHouse",
    "Every request, decision, answer and reward is a row, the arms that were not chosen included.",
  );
  const complete = `SELECT toUInt8(count() > 0 AND countIf(NOT answered) = 0) AS count FROM outcomes WHERE metadata['run'] = '${client.run}'`;
  if (!(await untilCount(context, 1, complete))) screen.line(pc.yellow("not all of this run's rows are there yet"));

  await showQuery(
    context,
    "How did the arms do where the router chose?",
    `
SELECT arm, count() AS answers, round(avg(probability), 2) AS avg_probability, round(avg(reward), 2) AS avg_reward,
       round(quantile(0.5)(total_ms)) AS median_ms, round(sum(cost), 5) AS cost
FROM outcomes
WHERE status = 'ok' AND metadata['scene'] = 'comparison'
GROUP BY arm ORDER BY arm`,
  );
  if (stages.has("learn"))
    await showQuery(
      context,
      "What would each arm have earned had it answered everything? No model is asked again: answers are weighted by the logged probability.",
      `
SELECT decided_arm AS always, count() AS answers, round(sum(reward / probability) / sum(1 / probability), 3) AS estimated_reward,
       round(pow(sum(1 / probability), 2) / sum(1 / pow(probability, 2))) AS effective_answers
FROM outcomes
WHERE reward IS NOT NULL
GROUP BY always ORDER BY always`,
    );
};
