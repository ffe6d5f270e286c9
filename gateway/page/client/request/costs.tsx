// What an answer cost, by kind of token, at the prices that are configured.
import type { WholeRequest } from "../../data/types/asking.ts";
import { cost, count } from "../format.ts";
import { Panel } from "../parts.tsx";
import { numeric, rowHead, Table } from "../table.tsx";

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
