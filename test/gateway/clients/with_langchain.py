# LangChain's chat model for OpenAI, against the gateway. Prints the responses.
import json
import os

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

common = {"base_url": os.environ["BASE_URL"], "api_key": "none", "max_retries": 0}
chat = ChatOpenAI(model="mock", **common)
capable = ChatOpenAI(model="tools", **common)
said = {}


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


answer = chat.invoke("langchain asks")
said["answer"] = [answer.content, answer.usage_metadata["total_tokens"]]
said["stream"] = "".join(str(piece.content) for piece in chat.stream("langchain in many words"))
said["batch"] = sorted(one.content for one in chat.batch(["one", "two", "three"]))

messages = [HumanMessage("Ulm")]
called = capable.bind_tools([weather]).invoke(messages)
said["tool"] = [called.tool_calls[0]["name"], called.tool_calls[0]["args"]]
messages += [called, ToolMessage(weather.invoke(called.tool_calls[0]["args"]), tool_call_id=called.tool_calls[0]["id"])]
said["tool_result"] = capable.bind_tools([weather]).invoke(messages).content

pieces = list(capable.bind_tools([weather]).stream([HumanMessage("Bonn")]))
whole = pieces[0]
for piece in pieces[1:]:
    whole += piece
said["tool_stream"] = [whole.tool_calls[0]["name"], whole.tool_calls[0]["args"]]

schema = {"title": "said", "type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
said["format"] = capable.with_structured_output(schema, method="json_schema").invoke("in a format")
try:
    ChatOpenAI(model="unknown", **common).invoke("x")
except openai.NotFoundError as error:
    said["unknown_model"] = error.status_code
try:
    chat.invoke("fail")
except openai.APIStatusError as error:
    said["failed"] = error.status_code

# It leaves in the middle of a stream.
left = chat.stream("held by langchain until")
for piece in left:
    if piece.content:
        break
left.close()
said["left"] = True
print(json.dumps(said))
