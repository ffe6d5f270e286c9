// Keys of the gateway: who may ask, how much, and what they have spent. Made, limited and revoked.
import { useState } from "preact/hooks";
import type { KeyList, KeyRow } from "../data/keys.ts";
import type { Names } from "../data/names.ts";
import { useKey } from "./api.ts";
import { cost, count, time, whole } from "./format.ts";
import { linkTo, useData, useQuery, useSearch } from "./hooks.ts";
import { KeyFields } from "./key-fields.tsx";
import { limitFields, limitsOf, limitTexts } from "./limit-fields.tsx";
import { Copied } from "./copied.tsx";
import { Confirm, Outcome, Panel, Problem, Search } from "./parts.tsx";
import { numeric, rowHead, Table, type Column } from "./table.tsx";
import { useAct } from "./use-act.ts";

export function Keys({ names }: { names: Names }) {
  const [query, set] = useQuery();
  const { search, setSearch, settled } = useSearch([query, set]);
  const all = query.get("all") ?? "";
  const { data, error, reload } = useData<KeyList>("keys", { search: settled, all }, 10_000);
  const [made, setMade] = useState<{ key: KeyRow; text: string }>();
  const [revoking, setRevoking] = useState<KeyRow>();
  const [limiting, setLimiting] = useState<KeyRow>();
  const { act, message, problem, isBusy } = useAct();
  const create = (grants: object): void =>
    act<{ key: KeyRow; text: string }>("key-create", grants, (one) => {
      setMade(one);
      // From the first key on the page needs one: this tab goes on with it.
      if (data?.hasKeys === false) useKey(one.text);
      reload();
      return `${one.key.id} is created.`;
    });
  const revoke = ({ id }: KeyRow): void =>
    act("key-revoke", { id }, () => (reload(), `${id} is revoked. Gateways refuse it within seconds.`));
  const limit = (id: string, changes: ReturnType<typeof limitsOf>): void => {
    if (Object.keys(changes).length > 0)
      act("key-limit", { id, ...changes }, () => (reload(), `The limits of ${id} are changed.`));
  };
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="id, tenant or label" value={search} onInput={setSearch} />
        <label>
          <span>Show</span>
          <select value={all} onChange={({ currentTarget: { value } }) => set({ all: value })}>
            <option value="">valid keys</option>
            <option value="yes">revoked and expired, too</option>
          </select>
        </label>
      </form>
      <Problem error={problem ?? error} />
      <Outcome>{message}</Outcome>
      {made !== undefined && (
        <Panel title="The new key" note="It is shown this once. Precedent keeps only its hash.">
          <Copied label={`Key ${made.key.id}`} text={made.text} />
          <p>
            <button type="button" onClick={() => setMade(undefined)}>
              I have it
            </button>
          </p>
        </Panel>
      )}
      {data !== undefined && (
        <Panel
          title="Keys"
          note={
            data.hasKeys
              ? `${count(data.found)} found${data.found > data.keys.length ? `, the newest ${count(data.keys.length)} shown` : ""}. Spending follows the recorded answers, about a second behind.`
              : "There are none: clients on this machine are served without one. From the first key on every request needs one, and this page an admin key."
          }
        >
          <Table
            none={data.hasKeys ? "No key fits." : "Create an admin key first, then keys of tenants."}
            scrolls="Keys"
            rows={data.keys}
            keyOf={({ id }) => id}
            columns={columnsOf(setLimiting, setRevoking, isBusy)}
          />
        </Panel>
      )}
      {data !== undefined && (
        <Panel title="Create a key" note="What is left empty is not limited.">
          <KeyFields names={names} isFirst={!data.hasKeys} isBusy={isBusy} onCreate={create} />
        </Panel>
      )}
      {limiting !== undefined && (
        <Limits
          key={limiting.id}
          of={limiting}
          onSave={(changes) => limit(limiting.id, changes)}
          onClose={() => setLimiting(undefined)}
        />
      )}
      {revoking !== undefined && (
        <Confirm
          title={`Revoke ${revoking.id}?`}
          action="Revoke"
          onConfirm={() => revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            Requests with it are refused from then on, for good.
            {revoking.admin && " It is an admin key: if this page was opened with it, it asks for another one."}
          </p>
        </Confirm>
      )}
    </>
  );
}

const spentOf = (spent: number | undefined, most: number | null): string =>
  most === null ? cost(spent) : `${cost(spent)} of ${cost(most)}`;
const limitOf = (most: number | null): string => (most === null ? "none" : count(most));

const columnsOf = (
  onLimit: (key: KeyRow) => void,
  onRevoke: (key: KeyRow) => void,
  isBusy: boolean,
): Column<KeyRow>[] => [
  [
    "Key",
    ({ id, admin }) =>
      admin ? (
        <code>{id}</code>
      ) : (
        <a data-row="" href={linkTo("requests", { key: id })}>
          {id}
        </a>
      ),
    rowHead,
  ],
  ["Tenant", ({ admin, tenant }) => (admin ? <em>admin</em> : <bdi>{tenant}</bdi>)],
  ["Label", ({ label }) => <bdi>{label}</bdi>, { class: "text" }],
  ["Arms", ({ admin, arms }) => (admin ? "" : (arms?.join(", ") ?? "any")), { class: "text" }],
  ["Domains", ({ admin, domains }) => (admin ? "" : (domains?.join(", ") ?? "any")), { class: "text" }],
  ["Requests a minute", (key) => (key.admin ? "" : limitOf(key.requestsPerMinute)), numeric],
  ["Tokens a minute", (key) => (key.admin ? "" : limitOf(key.tokensPerMinute)), numeric],
  ["Spent today", (key) => (key.admin ? "" : spentOf(key.spent?.day, key.spendLimitPerDay)), numeric],
  ["This month", (key) => (key.admin ? "" : spentOf(key.spent?.month, key.spendLimitPerMonth)), numeric],
  ["Created", ({ createdAt }) => time(createdAt), { class: "nowrap", hint: ({ createdAt }) => whole(createdAt) }],
  [
    "State",
    ({ isValid, revokedAt, expiresAt }) =>
      revokedAt !== null
        ? `revoked ${time(revokedAt)}`
        : expiresAt === null
          ? "valid"
          : `${isValid ? "until" : "expired"} ${time(expiresAt)}`,
  ],
  [
    "Acts",
    (key) =>
      key.isValid && (
        <span class="actions">
          {!key.admin && (
            <button type="button" disabled={isBusy} aria-label={`Limits of ${key.id}`} onClick={() => onLimit(key)}>
              Limits
            </button>
          )}
          <button type="button" disabled={isBusy} aria-label={`Revoke ${key.id}`} onClick={() => onRevoke(key)}>
            Revoke
          </button>
        </span>
      ),
    { class: "nowrap", isHidden: true },
  ],
];

interface LimitsProps {
  of: KeyRow;
  /** What was changed alone: another operator may have changed the rest. */
  onSave: (changes: ReturnType<typeof limitsOf>) => void;
  onClose: () => void;
}

function Limits({ of, onSave, onClose }: LimitsProps) {
  const [before] = useState(() => limitTexts(of));
  const [texts, setTexts] = useState(before);
  return (
    <Confirm
      title={`Limits of ${of.id}`}
      action="Change"
      onConfirm={() => onSave(limitsOf(texts, before))}
      onClose={onClose}
    >
      <div class="filters">{limitFields(texts, setTexts)}</div>
      <p class="note">What is left empty is not limited.</p>
    </Confirm>
  );
}
