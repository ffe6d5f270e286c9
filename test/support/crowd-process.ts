// Many readers of streams in a process of their own, because the limit of open files is per
// process: node tools/bin/run.mjs test/support/crowd-process.ts URL KEY MODEL. On orders of its
// parent it opens streams and reports their progress; it ends with its parent. The streams'
// requests differ only in the first message, "stream n"; the model of the test answers it by
// answerOf(n).
import { Agent, request, type IncomingMessage } from "node:http";
import { createStreamReader } from "../../bench/gateway/model.ts";
import { answerOf, question, type Crowd, type Order } from "./crowd.ts";

const [, , url = "", key = "", model = ""] = process.argv;
const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
const crowd: Crowd = { asked: 0, begun: 0, beating: 0, right: 0, refused: {}, wrong: [], wrongs: 0 };
/** Requested, without a response yet. */
let unheard = 0;
const wrong = (n: number, how: string): void => {
  crowd.wrongs++;
  if (crowd.wrong.length < 5) crowd.wrong.push(`stream ${n}: ${how}`);
};

function open(n: number): void {
  const messages = [
    { role: "system", content: `stream ${n}` },
    { role: "user", content: question },
  ];
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const sent = request(`${url}/chat/completions`, { method: "POST", agent, headers });
  crowd.asked++;
  unheard++;
  let isHeard = false;
  const heard = (): void => {
    if (!isHeard) unheard--;
    isHeard = true;
  };
  let isOver = false;
  const over = (end: () => void): void => {
    heard();
    if (!isOver) end();
    isOver = true;
  };
  sent.on("error", (error) => over(() => wrong(n, error.message)));
  sent.on("response", (response) => {
    heard();
    if (response.statusCode === 200) read(n, response, over);
    else refused(response, over);
  });
  sent.end(JSON.stringify({ model, messages, stream: true }));
}

type Over = (end: () => void) => void;

function read(n: number, response: IncomingMessage, over: Over): void {
  crowd.begun++;
  const reader = createStreamReader();
  let hasHeartbeat = false;
  let ends = 0;
  response.setEncoding("utf8");
  response.on("data", (piece: string) => {
    if (!hasHeartbeat && piece.includes(": waiting")) {
      hasHeartbeat = true;
      crowd.beating++;
    }
    ends += piece.split("data: [DONE]").length - 1;
    try {
      reader.add(piece);
    } catch (error) {
      over(() => wrong(n, String(error)));
    }
  });
  response.on("close", () =>
    over(() => {
      if (reader.done() && ends === 1 && reader.text() === answerOf(n)) crowd.right++;
      else wrong(n, `${ends} ends, ${JSON.stringify(reader.text().slice(0, 200))}`);
    }),
  );
  response.on("error", () => undefined);
}

function refused(response: IncomingMessage, over: Over): void {
  let body = "";
  response.setEncoding("utf8").on("data", (piece: string) => (body += piece));
  response.on("close", () =>
    over(() => {
      const { error } = JSON.parse(body) as { error: { code: string } };
      const how = `${response.statusCode} ${error.code}`;
      crowd.refused[how] = (crowd.refused[how] ?? 0) + 1;
    }),
  );
}

/** Fewer than wait in the kernel to be accepted while the gateway is busy: it would reset more. */
const mostUnheard = 3_000;
const atOnce = 10;

/** Goes by what was answered: how fast that is depends on the machine. */
function openAll({ from, count }: Order["open"]): void {
  let opened = 0;
  const timer = setInterval(() => {
    for (let n = 0; n < atOnce && opened < count && unheard < mostUnheard; n++) open(from + opened++);
    if (opened === count) clearInterval(timer);
  }, 20);
}

process.on("disconnect", () => process.exit(0));
process.on("message", ({ open: order }: Order) => openAll(order));
setInterval(() => process.send?.(crowd), 200);
