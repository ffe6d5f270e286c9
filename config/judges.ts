// What the judges need of the arms that they name: that of example replays
// (curate.exampleReplay.judge), and the automatic one (learn.judge).
import type { z } from "zod";
import type { ArmConfig } from "./sections/arms.ts";
import { type curate, references } from "./sections/curate.ts";
import type { learn } from "./sections/learning.ts";

interface Judged {
  arms: readonly ArmConfig[];
  learn: Pick<z.infer<typeof learn>, "judge">;
  curate: Pick<z.infer<typeof curate>, "exampleReplay">;
}

type Refuse = (path: string[], message: string) => void;

/** Who judges, and who gives the other answer, must be able to. */
export function refuseJudges(config: Judged, refuse: Refuse): void {
  refuseExampleReplayJudge(config, refuse);
  refuseAutomaticJudge(config, refuse);
}

function refuseExampleReplayJudge({ arms, curate }: Judged, refuse: Refuse): void {
  const { judge, schedule } = curate.exampleReplay;
  if (schedule !== undefined && judge === undefined)
    refuse(["curate", "exampleReplay", "schedule"], "no arm judges: set curate.exampleReplay.judge as well");
  if (judge === undefined || judge.startsWith(references)) return;
  const arm = arms.find(({ name }) => name === judge);
  if (arm === undefined)
    refuse(
      ["curate", "exampleReplay", "judge"],
      `"${judge}" is no arm; ${references}FILE, or one of ${arms.map(({ name }) => name).join(", ")}`,
    );
  if (arm?.type === "reuse")
    refuse(["curate", "exampleReplay", "judge"], `"${judge}" reuses answers and can't compare two of them`);
}

function refuseAutomaticJudge({ arms, learn: { judge } }: Judged, refuse: Refuse): void {
  const named = (key: "arm" | "reference"): ArmConfig | undefined => {
    const arm = arms.find(({ name }) => name === judge[key]);
    if (judge[key] !== undefined && arm === undefined)
      refuse(
        ["learn", "judge", key],
        `"${judge[key]}" is no arm; there are ${arms.map(({ name }) => name).join(", ")}`,
      );
    return arm;
  };
  const by = named("arm");
  if (by?.type === "reuse" || by?.type === "recorded")
    refuse(["learn", "judge", "arm"], `"${by.name}" is of type ${by.type} and can't judge: name an arm with a model`);
  const reference = named("reference");
  if (judge.reference !== undefined && judge.arm === undefined)
    refuse(["learn", "judge", "reference"], "no arm judges: set learn.judge.arm as well");
  if (reference?.type === "reuse")
    refuse(["learn", "judge", "reference"], `"${reference.name}" reuses answers and can't answer every request`);
  else if (reference?.examples === true)
    refuse(
      ["learn", "judge", "reference"],
      `"${reference.name}" is shown examples, which are not selected again for the comparison: name an arm with examples: false`,
    );
  if (reference !== undefined && reference.name === judge.arm)
    refuse(["learn", "judge", "reference"], `"${reference.name}" would judge itself`);
}
