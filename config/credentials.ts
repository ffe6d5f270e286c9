// What the keys of TLS and credentials may not say beside each other: a secret from two places, one
// that nothing would use, one that would travel in the clear.
import type { z } from "zod";
import type { OAuth, TlsFiles } from "./sections/security.ts";
import type { clickhouse, kafka, registry } from "./sections/services.ts";

type Path = (string | number)[];
type Refuse = (path: Path, message: string) => void;

interface Servers {
  kafka: z.infer<typeof kafka>;
  registry: z.infer<typeof registry>;
  clickhouse: z.infer<typeof clickhouse>;
}

export function refuseCredentials({ kafka, registry, clickhouse }: Servers, refuse: Refuse): void {
  refuseTls(["kafka", "tls"], kafka.tls, refuse);
  refuseSasl(kafka.sasl, refuse);
  if (kafka.brokers === undefined) {
    if (kafka.sasl !== undefined)
      refuse(["kafka", "sasl"], "the embedded broker takes no credentials; set kafka.brokers as well");
    if (kafka.tls !== undefined)
      refuse(["kafka", "tls"], "the embedded broker is on the loopback, without TLS; set kafka.brokers as well");
  }

  refuseTls(["registry", "tls"], registry.tls, refuse, registry.url ?? "");
  refuseBoth(["registry"], registry, "password", "passwordFile", refuse);
  refuseBoth(["registry"], registry, "oauth", "tokenFile", refuse);
  refuseOAuth(["registry", "oauth"], registry.oauth, refuse);
  const password = (["password", "passwordFile"] as const).find((key) => registry[key] !== undefined);
  const bearer = (["oauth", "tokenFile"] as const).find((key) => registry[key] !== undefined);
  if (password !== undefined && registry.username === undefined)
    refuse(["registry", password], "a password without a registry.username");
  if (bearer !== undefined && (registry.username ?? password) !== undefined)
    refuse(["registry", bearer], "a bearer token and a user's name: write one of the two");

  refuseTls(["clickhouse", "tls"], clickhouse.tls, refuse, clickhouse.url ?? "");
  if (clickhouse.password !== "" && clickhouse.passwordFile !== undefined)
    refuse(["clickhouse", "passwordFile"], "there is clickhouse.password as well: write one of the two");
}

/** url: of an HTTP server, which needs https for it. */
function refuseTls(path: Path, tls: TlsFiles | undefined, refuse: Refuse, url?: string): void {
  if (tls === undefined) return;
  if ((tls.cert === undefined) !== (tls.key === undefined))
    refuse([...path, tls.cert === undefined ? "cert" : "key"], "cert and key go together: name both");
  if (tls.passphrase !== undefined && tls.key === undefined) refuse([...path, "passphrase"], "there is no key for it");
  if (url !== undefined && !url.startsWith("https:"))
    refuse(path, `${path[0]}.url is no https address: nothing of this would be used`);
}

function refuseSasl(sasl: Servers["kafka"]["sasl"], refuse: Refuse): void {
  if (sasl === undefined) return;
  const path = ["kafka", "sasl"];
  const ofPassword = ["username", "password", "passwordFile"] as const;
  const ofToken = ["oauth", "tokenFile"] as const;
  const bearer = sasl.mechanism === "oauthbearer";
  for (const key of bearer ? ofPassword : ofToken)
    if (sasl[key] !== undefined) refuse([...path, key], `is of no use to ${sasl.mechanism}`);
  if (bearer) {
    if (sasl.oauth === undefined && sasl.tokenFile === undefined)
      refuse([...path, "oauth"], "missing; oauthbearer needs oauth or tokenFile");
    refuseBoth(path, sasl, "oauth", "tokenFile", refuse);
    refuseOAuth([...path, "oauth"], sasl.oauth, refuse);
    return;
  }
  if (sasl.username === undefined) refuse([...path, "username"], `missing; ${sasl.mechanism} needs it`);
  if (sasl.password === undefined && sasl.passwordFile === undefined)
    refuse([...path, "password"], `missing; ${sasl.mechanism} needs password or passwordFile`);
  refuseBoth(path, sasl, "password", "passwordFile", refuse);
}

function refuseOAuth(path: Path, oauth: OAuth | undefined, refuse: Refuse): void {
  if (oauth === undefined) return;
  const { protocol, hostname } = new URL(oauth.endpoint);
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && loopback))
    refuse([...path, "endpoint"], "the client secret would travel in the clear: write an https address");
  if (oauth.clientSecret === undefined && oauth.clientSecretFile === undefined)
    refuse([...path, "clientSecret"], "missing; write clientSecret or clientSecretFile");
  refuseBoth(path, oauth, "clientSecret", "clientSecretFile", refuse);
}

function refuseBoth<T extends object>(
  path: Path,
  keys: T,
  one: keyof T & string,
  other: keyof T & string,
  refuse: Refuse,
): void {
  if (keys[one] !== undefined && keys[other] !== undefined)
    refuse([...path, other], `there is ${[...path, one].join(".")} as well: write one of the two`);
}
