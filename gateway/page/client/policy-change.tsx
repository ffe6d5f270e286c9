// What versions of the router earned, and what one expects otherwise than the one before, in words.
import { useState } from "preact/hooks";
import type { PolicyChange } from "../data/policy-change.ts";
import type { Quality } from "../data/types/overview.ts";
import type { PolicyVersion } from "../data/types/policies.ts";
import { Chart } from "./chart.tsx";
import { figure, fraction } from "./format.ts";
import { useData } from "./hooks.ts";
import { Nothing, Problem } from "./parts.tsx";
import { featureWord } from "./words.ts";

type Rewarded = { version: number; createdAt: number; quality: Quality };

/** Over the times at which versions were published. */
export function Rewards({ theme }: { theme: string }) {
  const { data, error } = useData<Rewarded[]>("policy-rewards", {}, 30_000);
  if (data === undefined || data.length === 0) return <Problem error={error} />;
  const values = (of: (quality: Quality) => number | null): (number | null)[] => data.map((one) => of(one.quality));
  const bound = (sign: number) =>
    values(({ mean, reach }) => (mean === null ? null : Math.min(1, Math.max(0, mean + sign * (reach ?? 0)))));
  return (
    <div class="charts">
      <Chart
        title="Mean reward of the answers that each version chose, with its 95 % interval"
        at={data.map(({ createdAt }) => createdAt)}
        theme={theme}
        format={figure}
        series={[
          { label: "mean", colour: "var(--accent)", values: values(({ mean }) => mean) },
          { label: "upper bound", colour: "var(--quiet)", values: bound(1) },
          { label: "lower bound", colour: "var(--quiet)", values: bound(-1) },
        ]}
      />
    </div>
  );
}

export function Changed({ version, versions }: { version: number; versions: readonly PolicyVersion[] }) {
  const [picked, setPicked] = useState<number>();
  const shown = picked ?? version;
  const { data, error } = useData<PolicyChange>("policy-change", { version: shown });
  return (
    <section class="changed">
      <h3>
        <label>
          What changed with version{" "}
          <select
            value={String(shown)}
            onChange={({ currentTarget: { value } }) =>
              setPicked(Number(value) === version ? undefined : Number(value))
            }
          >
            {versions.map((one) => (
              <option key={one.version}>{one.version}</option>
            ))}
          </select>
        </label>
      </h3>
      <Problem error={error} />
      {data?.version === shown && <Words of={data} />}
    </section>
  );
}

function Words({ of: { before, changes, added, removed, problem } }: { of: PolicyChange }) {
  if (problem !== "") return <Nothing>Nothing to compare: {problem}.</Nothing>;
  const lines = [
    ...added.map((arm) => `${arm} has rewards of its own for the first time.`),
    ...removed.map((arm) => `${arm} is no longer in it.`),
    ...changes.map(sentenceOf),
  ];
  return lines.length === 0 ? (
    <Nothing>No weight that has a name differs from version {before}.</Nothing>
  ) : (
    <>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <p class="note">
        Against version {before}: predicted reward where the named property is at its most, all else equal, the largest
        changes first. Directions of the embedding have no names and are left out.
      </p>
    </>
  );
}

function sentenceOf({ arm, feature, before, now, deviation }: PolicyChange["changes"][number]): string {
  const by = now - before;
  const reach = 1.96 * deviation;
  return (
    `${arm} ${by > 0 ? "gains" : "loses"} ${fraction(Math.abs(by))} ${featureWord(feature)} ` +
    `(weight ${fraction(before)}, now ${fraction(now)} ± ${fraction(reach)}${Math.abs(by) < reach ? "; the change is within that" : ""}).`
  );
}
