// Certificates for a test: an authority, and what it vouches for. Made with openssl, of elliptic
// curves, which takes no time.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const openssl = (folder: string, ...args: string[]) => run("openssl", args, { cwd: folder });
const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

export interface Certificate {
  cert: string;
  key: string;
  /** Both in one file. */
  pair: string;
}

/** A self-signed authority: the path of its certificate; its key lies beside it. */
export async function makeAuthority(folder: string, name: string): Promise<string> {
  await openssl(
    folder,
    "req",
    "-x509",
    ...curve,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.pem`,
    "-days",
    "2",
    "-subj",
    `/CN=${name}`,
  );
  return join(folder, `${name}.pem`);
}

/** For localhost and 127.0.0.1; with negative days it has expired. */
export async function makeCertificate(folder: string, authority: string, name: string, days = 2): Promise<Certificate> {
  const [cert, key, pair] = [`${name}.pem`, `${name}.key`, `${name}.pair.pem`].map((file) => join(folder, file)) as [
    string,
    string,
    string,
  ];
  await openssl(folder, "req", "-new", ...curve, "-keyout", key, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
  await writeFile(join(folder, `${name}.ext`), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  const issuer = ["-CA", authority, "-CAkey", authority.replace(/\.pem$/, ".key"), "-CAcreateserial"];
  await openssl(
    folder,
    "x509",
    "-req",
    "-in",
    `${name}.csr`,
    ...issuer,
    "-days",
    String(days),
    "-extfile",
    `${name}.ext`,
    "-out",
    cert,
  );
  await writeFile(pair, (await readFile(key, "utf8")) + (await readFile(cert, "utf8")));
  return { cert, key, pair };
}
