# LlamaIndex, as an application uses it. Prints the responses, as one object.
import json
import os

import openai
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


def llm(model):
    return OpenAILike(
        model=model,
        api_base=os.environ["BASE_URL"],
        api_key="none",
        max_retries=0,
        is_chat_model=True,
        is_function_calling_model=True,
    )


class Answer(BaseModel):
    answer: str


def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


said = {"answer": llm("mock").complete("llamaindex asks").text}
pieces = llm("mock").stream_chat([ChatMessage(role="user", content="llamaindex in many words")])
said["stream"] = "".join(piece.delta or "" for piece in pieces)
tools = [FunctionTool.from_defaults(fn=weather)]
for arm in ("tools", "claude"):
    called = llm(arm).chat_with_tools(tools, user_msg="Ulm")
    [call] = llm(arm).get_tool_calls_from_response(called)
    result = llm(arm).predict_and_call(tools, user_msg="Bonn")
    said[arm] = [call.tool_name, call.tool_kwargs, str(result)]
schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": Answer.model_json_schema()}}
formatted = llm("tools").chat([ChatMessage(role="user", content="in a format")], response_format=schema)
said["format"] = Answer.model_validate_json(formatted.message.content).answer
try:
    llm("mock").complete("fail")
except openai.APIStatusError as error:
    said["failed"] = error.status_code
for piece in llm("mock").stream_chat([ChatMessage(role="user", content="held by llamaindex until")]):
    if piece.delta:
        break
said["left"] = True
print(json.dumps(said))
