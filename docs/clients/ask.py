"""An outside client: confluent-kafka, nothing of Precedent's.

pip install "confluent-kafka[avro,schemaregistry]==2.11.1"
KAFKA=127.0.0.1:9092 REGISTRY=http://127.0.0.1:8080/apis/ccompat/v7 python ask.py "count the lines of a file"
"""
import json, os, sys, uuid
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

prefix = os.environ.get("PREFIX", "precedent.")
requests, responses = prefix + "requests", prefix + "responses"
registry = SchemaRegistryClient({"url": os.environ["REGISTRY"]})
schema = registry.get_latest_version(requests + "-value").schema
encode = AvroSerializer(registry, schema, conf={"auto.register.schemas": False, "use.latest.version": True})
decode = AvroDeserializer(registry)
request_id = str(uuid.uuid4())

# Listen first, from the end of every partition on, and read committed records only: plan and generate write transactions.
consumer = Consumer({"bootstrap.servers": os.environ["KAFKA"], "group.id": "ask-" + request_id, "isolation.level": "read_committed"})
partitions = consumer.list_topics(responses).topics[responses].partitions
ends = [(p, consumer.get_watermark_offsets(TopicPartition(responses, p))[1]) for p in partitions]
consumer.assign([TopicPartition(responses, p, end) for p, end in ends])

producer = Producer({"bootstrap.servers": os.environ["KAFKA"]})
question = {"id": request_id, "messages": [{"role": "user", "content": sys.argv[1]}]}
producer.produce(requests, key=request_id, value=encode(question, SerializationContext(requests, MessageField.VALUE)))
producer.flush()

while True:
    message = consumer.poll(1.0)
    if message is None or message.error() or message.key() != request_id.encode():
        continue
    response = decode(message.value(), SerializationContext(responses, MessageField.VALUE))
    print(json.dumps({key: response[key] for key in ("status", "text", "arm", "error")}))
    break
consumer.close()
