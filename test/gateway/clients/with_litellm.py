# LiteLLM's client, with the gateway as an OpenAI-compatible provider. Prints the responses.
import json
import os

import litellm

litellm.suppress_debug_info = True
common = {"api_base": os.environ["BASE_URL"], "api_key": "none", "num_retries": 0, "max_retries": 0}
said = {}


def user(content):
    return [{"role": "user", "content": content}]


tool = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}

answer = litellm.completion(model="openai/mock", messages=user("litellm asks"), **common)
said["answer"] = [answer.choices[0].message.content, answer.usage.total_tokens]
stream = litellm.completion(model="openai/mock", messages=user("litellm in many words"), stream=True, **common)
said["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
called = litellm.completion(model="openai/tools", messages=user("Ulm"), tools=[tool], **common)
call = called.choices[0].message.tool_calls[0]
said["tool"] = [call.function.name, json.loads(call.function.arguments)]
messages = user("Ulm") + [called.choices[0].message.model_dump()]
messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
result = litellm.completion(model="openai/tools", messages=messages, tools=[tool], **common)
said["tool_result"] = result.choices[0].message.content
pieces = litellm.completion(model="openai/tools", messages=user("Bonn"), tools=[tool], stream=True, **common)
calls = [c for chunk in pieces for c in chunk.choices[0].delta.tool_calls or []]
said["tool_stream"] = [calls[0].function.name, json.loads("".join(c.function.arguments or "" for c in calls))]
formatted = litellm.completion(
    model="openai/tools", messages=user("in a format"), response_format={"type": "json_object"}, **common
)
said["format"] = json.loads(formatted.choices[0].message.content)
try:
    litellm.completion(model="openai/unknown", messages=user("x"), **common)
except litellm.NotFoundError as error:
    said["unknown_model"] = error.status_code
try:
    litellm.completion(model="openai/mock", messages=user("fail"), **common)
except litellm.BadGatewayError as error:
    said["failed"] = error.status_code

# It leaves in the middle of a stream.
left = litellm.completion(model="openai/mock", messages=user("held by litellm until"), stream=True, **common)
for chunk in left:
    if chunk.choices[0].delta.content:
        break
left.completion_stream.close()
said["left"] = True
print(json.dumps(said))
