/** Which files of a plugin or skill directory may hold a secret, and so stay out of images: by their name, or by a key in them. */

import { open } from "node:fs/promises";
import { SECRET_FILE_NAMES } from "../../../runtime/contracts/secret-files.ts";

const NAMES: readonly RegExp[] = [
  /^id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:[_.-](?!pub$).+)?$/,
  /\.(?:pem|key|p8|p12|pfx|jks|keystore|ppk|kdbx|age|gpg|tfstate|tfvars|kubeconfig)$/,
  /^(?:.+[_.-])?(?:credentials?|secrets?|service[_-]?account|client_secret)s?(?:[_.-].+)?\.(?:json|ya?ml|toml|ini|txt|csv|xml)$/,
  /^(?:credentials|secrets?|kubeconfig|passwords?)$/,
];

/** The beginning of a line, or of the field in which clouds hand out keys of service accounts. */
const PRIVATE_KEY = /(?:^|\n|"private_key"\s*:\s*")-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY/;
/** Bytes of a file that are searched for a key. */
const HEAD_BYTES = 4096;

/** `name`: without its directory. Hidden files are not asked about: none of them goes into an image. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  return SECRET_FILE_NAMES.includes(lower) || NAMES.some((pattern) => pattern.test(lower));
}

/** Whether a regular file has a private key near its beginning. */
export async function holdsPrivateKey(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return PRIVATE_KEY.test(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await file.close();
  }
}
