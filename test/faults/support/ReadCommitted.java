// What Kafka's own consumer, read committed, finds in whole topics: the second opinion beside our patched kafkajs.
// java -cp KAFKA-JARS ReadCommitted.java BROKERS TOPIC...: a line "topic<TAB>partition<TAB>offset<TAB>key" a record.
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class ReadCommitted {
  public static void main(String[] arguments) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("isolation.level", "read_committed");
    settings.put("enable.auto.commit", "false");
    settings.put("auto.offset.reset", "none");
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (String topic : Arrays.asList(arguments).subList(1, arguments.length))
        consumer.partitionsFor(topic).forEach(found -> partitions.add(new TopicPartition(topic, found.partition())));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      // Read committed: the end is the last stable offset.
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        if (System.nanoTime() > deadline) throw new IllegalStateException("not read to the end within 120 s");
        for (ConsumerRecord<byte[], byte[]> found : consumer.poll(Duration.ofMillis(200))) {
          String key = found.key() == null ? "" : new String(found.key(), StandardCharsets.UTF_8);
          out.println(found.topic() + "\t" + found.partition() + "\t" + found.offset() + "\t" + key);
        }
      }
    }
    out.flush();
  }
}
