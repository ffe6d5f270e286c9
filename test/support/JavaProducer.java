// Kafka's own client, told by lines of JSON what to send; answers each with a line.
import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class JavaProducer {
  static byte[] bytes(JsonNode node) throws IOException {
    return node == null || node.isNull() ? null : node.binaryValue();
  }

  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line; (line = in.readLine()) != null; ) {
      JsonNode told = json.readTree(line);
      String end = told.get("end").asText();
      Properties p = new Properties();
      p.put("bootstrap.servers", args[0]);
      p.put("compression.type", told.get("codec").asText());
      p.put("linger.ms", "20");
      p.put("batch.size", "4000000");
      p.put("max.request.size", "2000000000");
      p.put("buffer.memory", "2000000000");
      p.put("enable.idempotence", String.valueOf(!end.equals("plain")));
      boolean transactional = end.equals("commit") || end.equals("abort");
      if (transactional) p.put("transactional.id", "java-" + UUID.randomUUID());
      StringBuilder answer = new StringBuilder();
      try (KafkaProducer<byte[], byte[]> k = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
        if (transactional) { k.initTransactions(); k.beginTransaction(); }
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode one : told.get("records")) {
          JsonNode time = one.get("timestamp");
          byte[] value = bytes(one.get("value"));
          if (one.has("repeated")) {
            byte[] all = new byte[one.get("repeated").asInt()];
            for (int i = 0; i < all.length; i++) all[i] = value[i % value.length];
            value = all;
          }
          ProducerRecord<byte[], byte[]> r = new ProducerRecord<>(told.get("topic").asText(), one.get("partition").asInt(),
              time == null || time.isNull() ? null : time.asLong(), bytes(one.get("key")), value);
          for (JsonNode header : one.get("headers")) r.headers().add(header.get(0).asText(), bytes(header.get(1)));
          sent.add(k.send(r));
        }
        k.flush();
        for (Future<RecordMetadata> one : sent) {
          if (answer.length() > 0) answer.append(",");
          try { answer.append(one.get().offset()); }
          catch (Exception e) { answer.append(json.writeValueAsString(String.valueOf(e.getCause()))); }
        }
        if (end.equals("commit")) k.commitTransaction();
        if (end.equals("abort")) k.abortTransaction();
        System.out.println("[" + answer + "]");
      } catch (Exception e) {
        System.out.println(json.writeValueAsString(String.valueOf(e)));
      }
    }
  }
}
