// An exactly-once stage of Kafka Streams that does nothing: every record of one topic goes to another as it is. Measured beside
// our own by "npm run bench -- stage". Arguments: brokers, application id, input, output, milliseconds between commits.
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

public final class EmptyStage {
  public static void main(String[] arguments) throws InterruptedException {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, Integer.parseInt(arguments[4]));
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");

    var bytes = Serdes.ByteArray();
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .stream(arguments[2], Consumed.with(bytes, bytes))
        .mapValues(value -> value)
        .to(arguments[3], Produced.with(bytes, bytes));

    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    CountDownLatch stopped = new CountDownLatch(1);
    streams.setStateListener((now, before) -> {
      if (now == KafkaStreams.State.RUNNING) System.err.println("{\"msg\":\"running\"}");
      if (now == KafkaStreams.State.ERROR) System.exit(1);
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      streams.close();
      stopped.countDown();
    }));
    streams.start();
    stopped.await();
  }
}
