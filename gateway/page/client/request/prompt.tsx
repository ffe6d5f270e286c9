// The tokens of the prompt: linked from KV caches, computed again, and as usual.
import { count, shares, cost } from "../format.ts";
import { Bar, Panel } from "../parts.tsx";
import type { Answer } from "./conversation.ts";
import type { WholeRequest } from "../../data/types/asking.ts";
import { numeric, rowHead, Table } from "../table.tsx";

export function Prompt({ response }: { response: Answer }) {
  const { promptTokens, linkedTokens, recomputedTokens, prefilledTokens, completionTokens, reasoningTokens } = response;
  const { cachedTokens, cacheWriteTokens } = response;
  const reused = Math.max(0, linkedTokens - recomputedTokens);
  const isCounted = prefilledTokens > 0 || linkedTokens > 0 || cachedTokens > 0;
  const usual = isCounted ? Math.max(0, prefilledTokens - cacheWriteTokens) : promptTokens;
  const thought = reasoningTokens > 0 ? `, ${count(reasoningTokens)} of these reasoning` : "";
  const all = [
    { label: "linked: KV cache reused as it was", tokens: reused, colour: "var(--good)" },
    { label: "linked, and computed again", tokens: recomputedTokens, colour: "var(--warn)" },
    { label: "cached by the endpoint", tokens: linkedTokens > 0 ? 0 : cachedTokens, colour: "var(--good)" },
    { label: "computed, and written to the endpoint's cache", tokens: cacheWriteTokens, colour: "var(--warn)" },
    { label: "computed as usual", tokens: usual, colour: "var(--arm-2)" },
  ];
  const parts = all.filter(({ tokens, label }) => tokens > 0 || !label.includes("endpoint"));
  const percents = shares(parts.map(({ tokens }) => tokens));
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <Panel
      title="Prompt, by what was computed"
      note={`${count(promptTokens)} tokens of prompt, ${count(completionTokens)} of answer${thought}.`}
    >
      <table>
        <tbody>
          {parts.map(({ label, tokens, colour }, i) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td class="wide">
                <Bar value={total === 0 ? 0 : tokens / total} colour={colour}>
                  {count(tokens)} {total > 0 && `(${percents[i] ?? ""})`}
                </Bar>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function Costs({ conversation: { response, prices } }: { conversation: WholeRequest }) {
  if (response === undefined || response.source !== "generated" || prices === null) return null;
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens, reasoningTokens, failedCost } = response;
  const [cached, written] = [Math.min(cachedTokens, promptTokens), Math.min(cacheWriteTokens, promptTokens)];
  const rows = [
    { what: "Prompt", tokens: Math.max(0, promptTokens - cached - written), price: prices.prompt },
    { what: "Prompt, cached by the endpoint", tokens: cached, price: prices.cachedPrompt },
    { what: "Prompt, written to the endpoint's cache", tokens: written, price: prices.cacheWrite },
    { what: "Answer", tokens: Math.max(0, completionTokens - reasoningTokens), price: prices.completion },
    { what: "Answer, reasoning", tokens: Math.min(reasoningTokens, completionTokens), price: prices.reasoning },
  ].filter(({ tokens }) => tokens > 0);
  const sum = rows.reduce((total, { tokens, price }) => total + (tokens * price) / 1e6, 0);
  const charged = response.cost - failedCost;
  const differs = Math.abs(sum - charged) > 1e-9 + 1e-6 * charged;
  return (
    <Panel
      title="Cost, by kind of token"
      note={`Charged: ${cost(response.cost)}${failedCost > 0 ? `, ${cost(failedCost)} of it for failed calls` : ""}.${
        differs ? " The rest is for the provider's tools, or by prices that are not the present ones." : ""
      }`}
    >
      <Table
        rows={rows}
        keyOf={({ what }) => what}
        columns={[
          ["Tokens", ({ what }) => what, rowHead],
          ["Count", ({ tokens }) => count(tokens), numeric],
          ["Price per million", ({ price }) => cost(price), numeric],
          ["Cost", ({ tokens, price }) => cost((tokens * price) / 1e6), numeric],
        ]}
      />
    </Panel>
  );
}
