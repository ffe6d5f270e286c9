// Versions of what was learnt, and the way back to an older one.
import { useState } from "preact/hooks";
import type { PolicyVersion } from "../data/types/policies.ts";
import { figure, whole } from "./format.ts";
import { useData, useQuery } from "./hooks.ts";
import { Changed, Rewards } from "./policy-change.tsx";
import { Confirm, Nothing, Outcome, Panel, Problem } from "./parts.tsx";
import { aged, numeric, rowHead, Table } from "./table.tsx";
import { useAct } from "./use-act.ts";

export function Policies({ theme }: { theme: string }) {
  const [query, set] = useQuery();
  const chosen = query.get("name") ?? "";
  const newest = useData<PolicyVersion[]>("policies", {}, 10_000);
  const name = chosen === "" ? (newest.data?.find((one) => one.name === "router") ?? newest.data?.[0])?.name : chosen;
  if (newest.data === undefined) return <Problem error={newest.error} />;
  if (newest.data.length === 0)
    return <Nothing>Nothing is learnt yet: give feedback, and let the stages learn and record run.</Nothing>;
  return (
    <>
      <Panel title="Newest versions">
        <Table
          rows={newest.data}
          keyOf={(one) => one.name}
          rowClass={(one) => (one.name === name ? "chosen" : "")}
          columns={[
            [
              "Policy",
              (one) => (
                <button
                  type="button"
                  class="link"
                  data-row=""
                  aria-pressed={one.name === name}
                  onClick={() => set({ name: one.name })}
                >
                  {one.name}
                </button>
              ),
              rowHead,
            ],
            ["Version", ({ version }) => version, numeric],
            aged("Published", "createdAt"),
            [
              "Learning",
              ({ revertOf }) => (revertOf === null ? "goes on" : <strong>paused, repeats {revertOf}</strong>),
            ],
            ["Figures", figuresOf, { class: "text quiet" }],
          ]}
        />
      </Panel>
      {name === "router" && <Rewards theme={theme} />}
      {name !== undefined && <History key={name} name={name} onChange={newest.reload} />}
    </>
  );
}

const mostFigures = 5;
const figuresOf = ({ metrics }: PolicyVersion): string =>
  Object.entries(metrics)
    .slice(0, mostFigures)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${figure(value)}`)
    .join(", ");

interface Asked {
  path: "revert" | "resume";
  version: PolicyVersion;
}

function History({ name, onChange }: { name: string; onChange: () => void }) {
  const { data, error, reload } = useData<PolicyVersion[]>("policies", { name }, 10_000);
  const [asked, setAsked] = useState<Asked>();
  const { act, message, problem } = useAct();
  const publish = ({ path, version: { version } }: Asked): void =>
    act<PolicyVersion>(path, { name, ...(path === "revert" ? { version } : {}) }, (made) => {
      // The table has it a moment later.
      setTimeout(() => (reload(), onChange()), 1_500);
      return path === "revert"
        ? `${name} ${made.version} repeats ${version}; learning is paused.`
        : `${name} ${made.version}: learning goes on.`;
    });
  const [newest] = data ?? [];
  return (
    <Panel
      title={`Versions of ${name}`}
      note="A revert publishes an old version again as the newest; what is learnt replaces it only after learning is resumed. Whoever may open this page may do both: admin keys, or clients on this machine while there are no keys."
    >
      <Problem error={problem ?? error} />
      <Outcome>{message}</Outcome>
      {newest !== undefined && newest.revertOf !== null && newest.revertible && (
        <p>
          <button type="button" onClick={() => setAsked({ path: "resume", version: newest })}>
            Resume learning
          </button>
        </p>
      )}
      <Table
        rows={data ?? []}
        keyOf={({ version }) => version}
        rowClass={(_one, i) => (i === 0 ? "chosen" : "")}
        scrolls={`Versions of ${name}`}
        columns={[
          ["Version", ({ version }) => version, numeric],
          ["Published", ({ createdAt }) => whole(createdAt)],
          ["Trained through", ({ trainedThrough }) => (trainedThrough === null ? "–" : whole(trainedThrough))],
          ["Figures", figuresOf, { class: "text quiet" }],
          ["Repeats", ({ revertOf }) => revertOf],
          [
            "Action",
            (one, i) =>
              i === 0
                ? "in force"
                : one.revertible && (
                    <button
                      type="button"
                      aria-label={`Revert to it: ${name} ${one.version}`}
                      onClick={() => setAsked({ path: "revert", version: one })}
                    >
                      Revert to it
                    </button>
                  ),
            { class: "nowrap", isHidden: true },
          ],
        ]}
      />
      {name === "router" && newest !== undefined && <Changed version={newest.version} versions={data ?? []} />}
      {asked !== undefined && (
        <Confirm
          title={
            asked.path === "revert"
              ? `Revert ${name} to version ${asked.version.version}?`
              : `Resume learning of ${name}?`
          }
          action={asked.path === "revert" ? "Revert" : "Resume"}
          onConfirm={() => publish(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            {asked.path === "revert"
              ? `Every process routes by it within seconds, and learning of ${name} pauses until it is resumed.`
              : "The version in force stays until something newer is learnt."}
          </p>
        </Confirm>
      )}
    </Panel>
  );
}
