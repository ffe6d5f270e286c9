# OpenAI's own client for Python and its Agents, as an application uses them. Prints the responses, as one object.
import asyncio
import json
import os

import agents
import openai
import pydantic

base_url = os.environ["BASE_URL"]
client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
said = {}


def user(content):
    return [{"role": "user", "content": content}]


tool = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

answer = client.chat.completions.create(model="mock", messages=user("python asks"))
said["answer"] = [answer.choices[0].message.content, answer.choices[0].finish_reason, answer.usage.total_tokens]

pieces = client.chat.completions.create(
    model="mock", messages=user("slowly in many words"), stream=True, stream_options={"include_usage": True}
)
chunks = list(pieces)
said["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
said["stream_usage"] = chunks[-1].usage.total_tokens

messages = user("Ulm")
first = client.chat.completions.create(model="tools", messages=messages, tools=[tool])
call = first.choices[0].message.tool_calls[0]
said["tool"] = [first.choices[0].finish_reason, call.function.name, json.loads(call.function.arguments)]
messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
second = client.chat.completions.create(model="tools", messages=messages, tools=[tool])
said["tool_result"] = second.choices[0].message.content

streamed = client.chat.completions.create(model="tools", messages=user("Bonn"), tools=[tool], stream=True)
calls = [c for chunk in streamed for choice in chunk.choices for c in choice.delta.tool_calls or []]
said["tool_stream"] = [calls[0].function.name, json.loads("".join(c.function.arguments or "" for c in calls))]

schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
formatted = client.chat.completions.create(
    model="tools",
    messages=user("in a format"),
    response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
)
said["format"] = json.loads(formatted.choices[0].message.content)

plain = client.responses.create(model="mock", input="python responds")
said["responses"] = plain.output_text

function = {"type": "function", "name": "weather", "parameters": tool["function"]["parameters"], "strict": False}
asked = [{"role": "user", "content": "Ulm"}]
first = client.responses.create(model="tools", input=asked, tools=[function])
called = first.output[0]
asked += [called, {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"}]
second = client.responses.create(model="tools", input=asked, tools=[function])
said["responses_tool"] = [called.name, json.loads(called.arguments), second.output_text]
with client.responses.stream(model="tools", input="Bonn", tools=[function]) as stream:
    pieces = [event.delta for event in stream if event.type == "response.function_call_arguments.delta"]
    said["responses_stream"] = [json.loads("".join(pieces)), stream.get_final_response().output[0].name]
text_format = {"format": {"type": "json_schema", "name": "a", "schema": schema}}
formatted = client.responses.create(model="tools", input="in a format", text=text_format)
said["responses_format"] = json.loads(formatted.output_text)


# OpenAI's Agents, which call the tool by themselves and go on with what it returns.
@agents.function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


agents.set_tracing_disabled(True)
model = agents.OpenAIResponsesModel("tools", openai.AsyncOpenAI(base_url=base_url, api_key="none"))
agent = agents.Agent(name="a", instructions="Be brief.", model=model, tools=[weather])
said["agent"] = agents.Runner.run_sync(agent, "Ulm").final_output
session = agents.Runner.run_sync(agent, "Bonn", previous_response_id=second.id)
said["agent_goes_on"] = session.final_output


async def text_of(run, leave=False):
    text = ""
    async for event in run.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
            if leave:
                run.cancel()
    return text


class Answer(pydantic.BaseModel):
    answer: str


async def more_of_agents():
    told["agent_stream"] = await text_of(agents.Runner.run_streamed(agent, "Mainz"))
    formatted = agents.Agent(name="f", model=model, output_type=Answer)
    told["agent_format"] = (await agents.Runner.run(formatted, "in a format")).final_output.answer
    unknown = agents.OpenAIResponsesModel("unknown", model._client)
    try:
        await agents.Runner.run(agents.Agent(name="u", model=unknown), "x")
    except openai.NotFoundError as error:
        told["agent_failed"] = error.code
    plain_model = agents.OpenAIResponsesModel("mock", model._client)
    leaver = agents.Agent(name="l", model=plain_model)
    await text_of(agents.Runner.run_streamed(leaver, "held by agents until"), leave=True)


told = {}
asyncio.run(more_of_agents())
said |= told
second = client.responses.create(model="mock", input="python goes on", previous_response_id=plain.id)
said["responses_previous"] = [second.output_text, second.previous_response_id == plain.id]
try:
    client.responses.create(model="mock", input="x", previous_response_id="chatcmpl-unknown")
except openai.BadRequestError as error:
    said["unknown_previous"] = [error.code, error.param]

several = client.chat.completions.create(model="mock", messages=user("one of two"), n=2)
said["several"] = [[choice.index, choice.message.content] for choice in several.choices]
chunks = client.chat.completions.create(model="mock", messages=user("one of two"), n=2, stream=True)
said["several_stream"] = ["", ""]
for chunk in chunks:
    for choice in chunk.choices:
        said["several_stream"][choice.index] += choice.delta.content or ""
legacy = client.completions.create(model="mock", prompt="completed in python", max_tokens=9)
pieces = client.completions.create(model="mock", prompt="completed in pieces", stream=True)
said["completion"] = [legacy.choices[0].text, "".join(piece.choices[0].text for piece in pieces)]
try:
    client.completions.create(model="mock", prompt="x", echo=True)
except openai.BadRequestError as error:
    said["no_echo"] = [error.code, error.param]

said["models"] = sorted(model.id for model in client.models.list())
said["request_id"] = answer._request_id is not None

try:
    client.chat.completions.create(model="unknown", messages=user("x"))
except openai.NotFoundError as error:
    said["unknown_model"] = [error.status_code, error.code]
try:
    client.chat.completions.create(model="mock", messages=user("x"), extra_body={"best_of": 2})
except openai.BadRequestError as error:
    said["refused"] = [error.code, error.param]
try:
    client.chat.completions.create(model="mock", messages=user("fail"))
except openai.APIStatusError as error:
    said["failed"] = error.status_code

# It gives up waiting and asks again by itself, with the same key: the model is asked once.
patient = client.with_options(max_retries=6, timeout=0.7)
again = patient.chat.completions.create(
    model="mock", messages=user("takes a while"), extra_headers={"Idempotency-Key": "python-again"}
)
said["retried"] = again.choices[0].message.content

# It leaves in the middle of a stream.
with client.chat.completions.create(model="mock", messages=user("held until it is let go"), stream=True) as left:
    for chunk in left:
        if chunk.choices and chunk.choices[0].delta.content:
            break
said["left"] = True
print(json.dumps(said))
