// The code of an answer: models asked for a command often add a block or backticks. Pure; linear; a
// stream gives the same as the whole.

/** What a code block may be opened with behind its fence: the name of a language. */
const language = /^[\w+#.-]*$/;
const fence = "```";

/** Contents of the leading code block, or what is between backticks around the whole answer. */
export function answerCode(answer: string): string {
  const text = answer.trim();
  const inside = text.startsWith(fence) ? fenced(text) : quoted(text);
  return inside === "" ? text : inside;
}

function fenced(text: string): string {
  const lineEnd = text.indexOf("\n");
  const first = (lineEnd === -1 ? text : text.slice(0, lineEnd)).slice(fence.length).trimEnd();
  // On one line: ```ls -l```. What follows the fence is the command itself, or a language's name.
  if (first.includes(fence)) return first.slice(0, first.indexOf(fence)).trim();
  if (lineEnd === -1) return language.test(first) ? "" : first.trim();
  const body = language.test(first) ? text.slice(lineEnd + 1) : text.slice(fence.length);
  const end = body.startsWith(fence) ? 0 : body.indexOf(`\n${fence}`);
  const closing = end === -1 && body.endsWith(fence) ? body.length - fence.length : end;
  return (closing === -1 ? body : body.slice(0, closing)).trim();
}

function quoted(text: string): string {
  const isQuoted = text.length > 2 && text.startsWith("`") && text.indexOf("`", 1) === text.length - 1;
  return isQuoted ? text.slice(1, -1).trim() : "";
}
