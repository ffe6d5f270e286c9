// The tokens of the prompt: linked from KV caches, computed again, and as usual.
import { count, share } from "../format.ts";
import { Bar, Panel } from "../parts.tsx";
import type { Answer } from "./conversation.ts";

export function Prompt({ response }: { response: Answer }) {
  const { promptTokens, linkedTokens, recomputedTokens, prefilledTokens, completionTokens, reasoningTokens } = response;
  const { cachedTokens, cacheWriteTokens } = response;
  const reused = Math.max(0, linkedTokens - recomputedTokens);
  const isCounted = prefilledTokens > 0 || linkedTokens > 0 || cachedTokens > 0;
  const usual = isCounted ? Math.max(0, prefilledTokens - cacheWriteTokens) : promptTokens;
  const thought = reasoningTokens > 0 ? `, ${count(reasoningTokens)} of these reasoning` : "";
  const parts = [
    { label: "linked: KV cache reused as it was", tokens: reused, colour: "var(--good)" },
    { label: "linked, and computed again", tokens: recomputedTokens, colour: "var(--warn)" },
    { label: "cached by the endpoint", tokens: linkedTokens > 0 ? 0 : cachedTokens, colour: "var(--good)" },
    { label: "computed, and written to the endpoint's cache", tokens: cacheWriteTokens, colour: "var(--warn)" },
    { label: "computed as usual", tokens: usual, colour: "var(--arm-2)" },
  ];
  return (
    <Panel
      title="Prompt, by what was computed"
      note={`${count(promptTokens)} tokens of prompt, ${count(completionTokens)} of answer${thought}.${linkedTokens === 0 ? " No KV cache was linked: the arm is no llama arm, or had none at hand." : ""}`}
    >
      <table>
        <tbody>
          {parts
            .filter(({ tokens, label }) => tokens > 0 || !label.includes("endpoint"))
            .map(({ label, tokens, colour }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td class="wide">
                  <Bar value={promptTokens === 0 ? 0 : tokens / promptTokens} colour={colour}>
                    {count(tokens)} {promptTokens > 0 && `(${share(tokens / promptTokens)})`}
                  </Bar>
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </Panel>
  );
}
