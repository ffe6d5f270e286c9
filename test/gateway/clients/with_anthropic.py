# Anthropic's own client for Python, and LangChain's, as applications use them. Prints what they
# got, as one object.
import json
import os

import anthropic
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage

base_url = os.environ["BASE_URL"].removesuffix("/v1")
client = anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0)
got = {}


def user(content):
    return [{"role": "user", "content": content}]


tool = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

asks = {"model": "claude-sonnet-4-5", "max_tokens": 64, "system": "Be brief.", "messages": user("anthropic asks")}
answer = client.messages.create(**asks)
got["answer"] = [answer.content[0].text, answer.stop_reason, answer.usage.output_tokens, answer.model]
got["request_id"] = answer._request_id is not None

with client.messages.stream(model="mock", max_tokens=64, messages=user("slowly in many words")) as stream:
    got["stream"] = "".join(stream.text_stream)
    got["stream_usage"] = stream.get_final_message().usage.output_tokens

messages = user("Ulm")
first = client.messages.create(model="tools", max_tokens=64, messages=messages, tools=[tool])
call = first.content[0]
got["tool"] = [first.stop_reason, call.name, call.input]
messages += [
    {"role": "assistant", "content": first.content},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]},
]
second = client.messages.create(model="tools", max_tokens=64, messages=messages, tools=[tool])
got["tool_result"] = second.content[0].text

two = [tool, {**tool, "name": "time"}]
with client.messages.stream(model="tools", max_tokens=64, messages=user("Bonn"), tools=two) as stream:
    got["tool_stream"] = [[block.name, block.input] for block in stream.get_final_message().content]



@anthropic.beta_tool
def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name
    """
    return f"rain in {city}"


# It asks for a thread, and goes on without one.
runner = client.beta.messages.tool_runner(model="tools", max_tokens=64, messages=user("Ulm"), tools=[weather])
got["tool_runner"] = runner.until_done().content[0].text

schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "additionalProperties": False}
formatted = client.messages.create(
    model="tools",
    max_tokens=64,
    messages=user("in a format"),
    output_config={"format": {"type": "json_schema", "schema": schema}},
)
got["format"] = json.loads(formatted.content[0].text)

got["tokens"] = client.messages.count_tokens(model="mock", messages=user("four words are here")).input_tokens > 3
got["models"] = sorted(model.id for model in client.models.list())

try:
    client.messages.create(model="unknown", max_tokens=1, messages=user("x"))
except anthropic.NotFoundError as error:
    got["unknown_model"] = [error.status_code, error.body["error"]["type"]]
try:
    client.messages.create(model="mock", max_tokens=1, messages=user("x"), extra_body={"container": "x"})
except anthropic.BadRequestError as error:
    got["refused"] = [error.body["error"]["type"], error.body["error"]["param"]]
try:
    client.messages.create(model="mock", max_tokens=1, messages=user("fail"))
except anthropic.APIStatusError as error:
    got["failed"] = error.status_code

with client.messages.stream(model="mock", max_tokens=64, messages=user("held by anthropic until")) as left:
    for _ in left.text_stream:
        break
got["left"] = True

chat = ChatAnthropic(model="tools", base_url=base_url, api_key="none", max_retries=0)
bound = chat.bind_tools([tool])
asked = [HumanMessage("Ulm")]
called = bound.invoke(asked)
got["langchain_tool"] = [called.tool_calls[0]["name"], called.tool_calls[0]["args"]]
asked += [called, ToolMessage("rain", tool_call_id=called.tool_calls[0]["id"])]
got["langchain_result"] = bound.invoke(asked).text
got["langchain_stream"] = "".join(piece.text for piece in chat.bind(model="mock").stream("langchain in many words"))
structured = chat.with_structured_output({"title": "said", **schema}, method="json_schema")
got["langchain_format"] = structured.invoke("in a format")
try:
    ChatAnthropic(model="unknown", base_url=base_url, api_key="none", max_retries=0).invoke("x")
except anthropic.NotFoundError as error:
    got["langchain_failed"] = error.status_code
held = chat.bind(model="mock").stream("held by langchain and anthropic until")
for piece in held:
    if piece.text:
        break
held.close()
print(json.dumps(got))
