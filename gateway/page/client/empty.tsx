// First steps, shown while there are no requests.
import { Copied } from "./copied.tsx";
import { Panel } from "./parts.tsx";

const curl = (origin: string): string => `curl ${origin}/v1/chat/completions -H 'Content-Type: application/json' -d '{
  "model": "auto",
  "messages": [{"role": "user", "content": "Which city is the capital of France?"}]
}'`;

export const Empty = () => (
  <Panel title="No requests yet" note="A request appears here about a second after its answer.">
    <div class="steps">
      <ol>
        <li>
          <h3>Ask, as any OpenAI client does</h3>
          <p>With API keys, add the header Authorization: Bearer KEY, with the key of a tenant.</p>
          <Copied label="Command line with curl" text={curl(location.origin)} />
        </li>
        <li>
          <h3>Or where Precedent runs</h3>
          <Copied label="Command line of precedent" text={'precedent ask "Which city is the capital of France?"'} />
        </li>
        <li>
          <h3>Rate the answer</h3>
          <p>
            Open the request here and give it a thumb, a score or a correction. Ratings are what the router learns from.
          </p>
        </li>
        <li>
          <h3>Ask something alike</h3>
          <p>
            A well-rated answer is shown to the model as an example. The request&apos;s page says which examples, and
            why.
          </p>
        </li>
      </ol>
    </div>
  </Panel>
);
