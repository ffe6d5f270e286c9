// Feedback on the answer, and what became of it: the reward, and the example.
import type { Conversation } from "../../../conversation.ts";
import { figure, fraction, whole } from "../format.ts";
import { Nothing, Panel } from "../parts.tsx";
import { outcomeWord, refusalWord } from "../words.ts";

export const Feedback = ({ conversation: { feedback, reward, admission } }: { conversation: Conversation }) => (
  <Panel title="Feedback, reward and admission">
    {feedback.length === 0 ? (
      <Nothing>No feedback.</Nothing>
    ) : (
      <ul class="plain">
        {feedback.map((one) => (
          <li key={one.id}>
            <span class="quiet">{whole(one.createdAt)}</span> {one.source}: {one.kind} {one.value ?? ""}
            {one.against !== null && ` against ${one.against}`}
            {one.withdraws !== null && ` withdraws ${one.withdraws}`}
            {one.text !== null && (
              <>
                : <bdi>{one.text}</bdi>
              </>
            )}
            {one.comment !== null && (
              <>
                {" "}
                (<bdi>{one.comment}</bdi>)
              </>
            )}
          </li>
        ))}
      </ul>
    )}
    {reward !== undefined && (
      <p class="note">
        {reward.weight > 0
          ? `Reward ${fraction(reward.reward)}, with weight ${figure(reward.weight)}.`
          : "None of this feedback counts."}
      </p>
    )}
    {admission !== undefined && (
      <p class="note">
        {outcomeWord(admission.outcome)}
        {admission.reason !== "" && `, because ${refusalWord(admission.reason)}`}.
      </p>
    )}
  </Panel>
);
