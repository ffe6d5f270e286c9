// A request's members beside its texts: parameters, tools, metadata, allowed arms and costs.
import { nativeMember } from "../../../../algorithms/text/message-blocks.ts";
import { sessionOf } from "../../../../algorithms/identity/session.ts";
import type { Conversation } from "../../../conversation.ts";
import { cost, domainOf, duration, figure } from "../format.ts";
import { linkTo } from "../hooks.ts";
import { Panel } from "../parts.tsx";
import { beyondText } from "./code.ts";

const monthMs = 30 * 86_400_000;

export function Asked({ request }: { request: Conversation["request"] }) {
  const { params, metadata, privacy, allowedArms, limits, documents, tenant, domain, traceId, id } = request;
  const { messages: _messages, [nativeMember]: native, ...beyond } = beyondText(request);
  const { messages: _native, system: _system, ...natively } = (native ?? {}) as Record<string, unknown>;
  const { user, session: _session, ...others } = metadata;
  const session = sessionOf(metadata);
  const { maxCost = null, deadlineMs = null, costWeight = null } = limits ?? {};
  const rows: [string, preact.ComponentChildren][] = [
    ["Request id", <code key="id">{id}</code>],
    ["Tenant, domain", <bdi key="tenant">{`${tenant}, ${domainOf(domain)}`}</bdi>],
    ["User", user === undefined ? null : <a href={linkTo("requests", { tenant, user, last: monthMs })}>{user}</a>],
    [
      "Session",
      session === null ? null : <a href={linkTo("requests", { tenant, session, last: monthMs })}>{session}</a>,
    ],
    ["Trace id", traceId === "" ? null : <code key="trace">{traceId}</code>],
    ["Most tokens", params.maxTokens === null ? null : figure(params.maxTokens)],
    ["Temperature", params.temperature === null ? null : figure(params.temperature)],
    ["top_p", params.topP === null ? null : figure(params.topP)],
    ["Seed", params.seed === null ? null : String(params.seed)],
    ["Stop", params.stop.length === 0 ? null : params.stop.map((one) => JSON.stringify(one)).join(", ")],
    ["Allowed arms", allowedArms.length === 0 ? null : allowedArms.join(", ")],
    ["Cost at most", maxCost === null ? null : cost(maxCost)],
    ["Deadline", deadlineMs === null ? null : duration(deadlineMs)],
    ["Weight of cost", costWeight === null ? null : figure(costWeight)],
    ["Documents", documents.length === 0 ? null : documents.join(", ")],
    ["Privacy", privacyWords(privacy)],
    ...Object.entries(others).map(([name, value]): [string, string] => [`metadata.${name}`, value]),
    ...Object.entries({ ...beyond, ...natively }).map(([name, value]): [string, preact.ComponentChildren] => [
      name,
      <pre key={name} tabIndex={0} role="region" aria-label={name}>
        {JSON.stringify(value, null, 2)}
      </pre>,
    ]),
  ];
  return (
    <Panel title="Asked with">
      <table class="pairs">
        <tbody>
          {rows.map(([name, value]) =>
            value === null ? null : (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{typeof value === "string" ? <bdi>{value}</bdi> : value}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </Panel>
  );
}

const privacyWords = ({ cache, share, fresh }: Conversation["request"]["privacy"]): string | null => {
  const words = [
    cache ? "" : "its answer is not stored",
    share ? "" : "its answer becomes no example",
    fresh ? "not answered from the response cache" : "",
  ].filter((one) => one !== "");
  return words.length === 0 ? null : words.join("; ");
};
