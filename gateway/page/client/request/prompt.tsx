// The tokens of the prompt: linked from KV caches, computed again, and as usual.
import { count, share } from "../format.ts";
import { Bar, Panel } from "../parts.tsx";
import type { Answer } from "./conversation.ts";

export function Prompt({ response }: { response: Answer }) {
  const { promptTokens, linkedTokens, recomputedTokens, prefilledTokens, completionTokens } = response;
  const reused = Math.max(0, linkedTokens - recomputedTokens);
  const parts = [
    { label: "linked: KV cache reused as it was", tokens: reused, colour: "var(--good)" },
    { label: "linked, and computed again", tokens: recomputedTokens, colour: "var(--warn)" },
    {
      label: "computed as usual",
      tokens: prefilledTokens === 0 && linkedTokens === 0 ? promptTokens : prefilledTokens,
      colour: "var(--arm-2)",
    },
  ];
  return (
    <Panel
      title="Prompt, by what was computed"
      note={`${count(promptTokens)} tokens of prompt, ${count(completionTokens)} of answer.${linkedTokens === 0 ? " No KV cache was linked: the arm is no llama arm, or had none at hand." : ""}`}
    >
      <table>
        <tbody>
          {parts.map(({ label, tokens, colour }) => (
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
