// kafkajs' SASL options from the configuration. Passwords in files and tokens are read again at
// every authentication.
import type { KafkaConfig } from "kafkajs";
import type { Config } from "../../config/schema.ts";
import { secretOf } from "../security/files.ts";
import { createTokenSource } from "../security/oauth.ts";

type Sasl = NonNullable<Config["kafka"]["sasl"]>;

export function saslOf({
  mechanism,
  username = "",
  password,
  passwordFile,
  ...tokens
}: Sasl): NonNullable<KafkaConfig["sasl"]> {
  if (mechanism === "oauthbearer") {
    const token = createTokenSource(tokens);
    return { mechanism, oauthBearerProvider: async () => ({ value: await token() }) };
  }
  return {
    mechanism,
    username,
    get password() {
      return secretOf(password, passwordFile) ?? "";
    },
  } as NonNullable<KafkaConfig["sasl"]>;
}
