// What curate makes of the rewarded answers: new examples, and the ranking by G(e) of what is worth
// bettering.
import type { Scene } from "../scene.ts";
import { showQuery } from "../sql.ts";

export const examples: Scene = async (context) => {
  const { screen, stages } = context;
  if (!stages.has("curate")) return;
  screen.heading(
    "Good answers become examples",
    "curate admits what was rewarded well enough, without personal data and near-duplicates, and ranks all examples by G(e): the decayed sum of (1 - quality) × cost of the arm over the answers that they helped with.",
  );
  await showQuery(
    context,
    "What became of the rewarded answers?",
    `
SELECT outcome, reason, count() AS answers, round(avg(quality), 2) AS avg_quality
FROM admissions FINAL
GROUP BY outcome, reason ORDER BY answers DESC`,
  );
  await showQuery(
    context,
    "Which examples are used much and help little?",
    `
SELECT request, response, uses, round(mean_quality, 2) AS quality, round(gain, 4) AS gain
FROM example_gain
ORDER BY gain DESC LIMIT 5`,
  );
};
