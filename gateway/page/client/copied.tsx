// A text to run elsewhere, and the way to the clipboard.
import { useState } from "preact/hooks";

export function Copied({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class="copied">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <button
        type="button"
        onClick={() =>
          void copyText(text).then(() => {
            setCopied(true);
            setTimeout(() => setCopied(false), 2_000);
          })
        }
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** Browsers give plain HTTP from other hosts no clipboard: the text is selected instead. */
async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
