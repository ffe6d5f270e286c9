// The tokens of the prompt: linked from KV caches, computed again, and as usual.
import { count, shares } from "../format.ts";
import { Bar, Panel } from "../parts.tsx";
import type { Answer } from "./conversation.ts";

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
