// Dead letters: records that could not be processed, one of them whole, and sending it again.
import { useState } from "preact/hooks";
import type { Letter, LetterRow, LetterText } from "../data/dead-letters.ts";
import { ago, count, whole } from "./format.ts";
import { linkTo, useData, useQuery } from "./hooks.ts";
import { Confirm, Nothing, Outcome, Panel, Problem } from "./parts.tsx";
import { aged, rowHead, Table } from "./table.tsx";
import { useAct } from "./use-act.ts";

const filters = ["topic", "stage", "code", "tenant", "before", "skip"] as const;

export function Letters() {
  const [query, set] = useQuery();
  const offset = query.get("offset");
  const narrowed = Object.fromEntries(
    filters.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? ""]] : [])),
  );
  const { data, error } = useData<LetterRow[]>("letters", narrowed, 15_000);
  if (offset !== null)
    return (
      <OneLetter
        topic={query.get("topic") ?? ""}
        partition={query.get("partition") ?? ""}
        offset={offset}
        stage={query.get("stage") ?? ""}
      />
    );
  const last = data?.at(-1)?.createdAt;
  const shownOfLast = (data ?? []).filter(({ createdAt }) => createdAt === last).length;
  const skipped = Number(query.get("before")) === last ? Number(query.get("skip")) : 0;
  return (
    <>
      <p class="back">
        <a href={linkTo("health")}>Health</a>
      </p>
      <Problem error={error} />
      <Panel
        title="Dead letters"
        note={`Records of the last 90 days that a stage could not process. ${Object.entries(narrowed)
          .filter(([name]) => name !== "skip")
          .map(([name, value]) => (name === "before" ? `until ${whole(Number(value))}` : `${name} ${value}`))
          .join(", ")}`}
      >
        {data === undefined ? (
          error === undefined && <Nothing>…</Nothing>
        ) : data.length === 0 ? (
          <Nothing>There are none.</Nothing>
        ) : (
          <Table
            scrolls="Dead letters"
            rows={data}
            keyOf={(one) => `${one.topic}/${one.partition}/${one.offset}/${one.stage}`}
            columns={[
              [
                "Record",
                ({ topic, partition, offset: at, stage }) => (
                  <a data-row="" href={linkTo("letters", { topic, partition, offset: at, stage })}>
                    {topic} {partition}, {at}
                  </a>
                ),
                rowHead,
              ],
              ["Stage", ({ stage }) => stage],
              aged("When", "createdAt"),
              ["Tenant", ({ tenant }) => <bdi>{tenant}</bdi>],
              ["Code", ({ code }) => <code>{code}</code>],
              ["Reason", ({ reason }) => <bdi>{reason}</bdi>, { class: "text" }],
              ["Sent again", ({ retriedAt }) => (retriedAt === null ? "no" : ago(retriedAt)), { class: "nowrap" }],
            ]}
          />
        )}
        {last !== undefined && (data?.length ?? 0) >= 100 && (
          <p class="foot">
            <button type="button" onClick={() => set({ before: String(last), skip: String(skipped + shownOfLast) })}>
              Older ones
            </button>
          </p>
        )}
      </Panel>
    </>
  );
}

function OneLetter(key: { topic: string; partition: string; offset: string; stage: string }) {
  const { data, error, reload } = useData<Letter>("letter", key);
  const [asking, setAsking] = useState(false);
  const { act, message, problem, isBusy } = useAct();
  if (data === undefined) return error === undefined ? <Nothing>…</Nothing> : <Problem error={error} />;
  const { topic, partition, offset, firstOffset, stage, retriedAt, fullBytes } = data;
  const send = (): void =>
    act("letter-retry", { topic, partition, offset, stage }, () => {
      // The note of it is recorded a moment later.
      setTimeout(reload, 2_000);
      return `The record is sent to ${topic} again.`;
    });
  return (
    <>
      <p class="back">
        <a href={linkTo("letters")}>Dead letters</a>
      </p>
      <Problem error={problem} />
      <Outcome>{message}</Outcome>
      <Panel
        title={`Dead letter: ${topic} ${partition}, ${firstOffset < offset ? `${firstOffset} to ${offset}` : offset}`}
        note={`${stage} gave up on it, ${whole(data.createdAt)}`}
      >
        <div class="scroll" tabIndex={0} role="region" aria-label="The dead letter">
          <table class="pairs letter">
            <tbody>
              {pair("Code", <code>{data.code}</code>)}
              {pair("Reason", <pre>{data.reason}</pre>)}
              {pair("Tenant", <bdi>{data.tenant}</bdi>)}
              {pair("Written", data.sourceTimestamp === null ? "–" : whole(data.sourceTimestamp))}
              {fullBytes !== null && pair("Size", `${count(fullBytes)} bytes, of which this is the beginning`)}
              {pair("Key", <Bytes of={data.key} />)}
              {data.headers.map(({ name, value }, i) => pair(`Header ${name}`, <Bytes of={value} />, i))}
              {pair("Value", <Bytes of={data.value} />)}
              {data.record !== null && pair("Value as a record", <pre>{data.record}</pre>)}
              {pair("Sent again", retriedAt === null ? "no" : whole(retriedAt))}
            </tbody>
          </table>
        </div>
        <p>
          <button type="button" class="primary" disabled={isBusy || retriedAt !== null} onClick={() => setAsking(true)}>
            Send it to {topic} again
          </button>
        </p>
      </Panel>
      {asking && (
        <Confirm title="Send the record again?" action="Send" onConfirm={send} onClose={() => setAsking(false)}>
          <p>
            Its key, value and headers are written to {topic} as they were, at a new position, and every stage that
            reads the topic takes it. A request is answered, and paid for. This is possible once.
          </p>
        </Confirm>
      )}
    </>
  );
}

const pair = (name: string, value: preact.ComponentChildren, i = 0) => (
  <tr key={`${name} ${i}`}>
    <th scope="row">{name}</th>
    <td>{value}</td>
  </tr>
);

const Bytes = ({ of }: { of: LetterText | null }) =>
  of === null ? (
    <span class="quiet">none</span>
  ) : (
    <>
      <pre>{of.text}</pre>
      <span class="quiet">
        {count(of.bytes)} bytes{of.isBase64 ? ", in base64" : ""}
      </span>
    </>
  );
