// LangChain's chat model for OpenAI, for Node, against the gateway. Prints the responses. It runs
// beside its packages, in the folder that node-client.ts makes.
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";

const configuration = { baseURL: process.env.BASE_URL };
const chatOf = (model) => new ChatOpenAI({ model, apiKey: "none", maxRetries: 0, configuration });
const chat = chatOf("mock");
const capable = chatOf("tools");
const said = {};

const answer = await chat.invoke("langchain asks");
said.answer = [answer.content, answer.usage_metadata.total_tokens];
said.finish = answer.response_metadata.finish_reason;
const pieces = [];
for await (const piece of await chat.stream("langchain in many words")) pieces.push(piece);
said.stream = pieces.map(({ content }) => content).join("");
said.stream_usage = pieces.reduce((all, piece) => all.concat(piece)).usage_metadata?.total_tokens;
said.batch = (await chat.batch(["one", "two", "three"])).map(({ content }) => content);

const weather = tool(({ city }) => `rain in ${city}`, {
  name: "weather",
  description: "The weather of a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});
const withTools = capable.bindTools([weather]);
const messages = [new HumanMessage("Ulm")];
const called = await withTools.invoke(messages);
const [call] = called.tool_calls;
said.tool = [call.name, call.args];
messages.push(called, new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id }));
said.tool_result = (await withTools.invoke(messages)).content;
let streamed;
for await (const piece of await withTools.stream("Bonn")) streamed = streamed?.concat(piece) ?? piece;
said.tool_stream = [streamed.tool_calls[0].name, streamed.tool_calls[0].args];

const schema = { title: "said", type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };
said.format = await capable.withStructuredOutput(schema, { method: "jsonSchema" }).invoke("in a format");

const failureOf = (model) =>
  chatOf(model)
    .invoke(model === "mock" ? "fail" : "x")
    .then(
      () => "answered",
      ({ constructor, status, code }) => [constructor.name, status, code],
    );
said.unknown_model = await failureOf("unknown");
said.failed = await failureOf("mock");
console.log(JSON.stringify(said));
