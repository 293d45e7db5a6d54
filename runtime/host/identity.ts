/** The node's identity: an Ed25519 key, made at the first start and never leaving the home directory; its id is the key's fingerprint. */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { ConfigError } from "../contracts/errors.ts";
import { nodeIdOf } from "../domain/mesh/node-entry.ts";
import { writeDurably } from "../files/durable.ts";

export interface NodeIdentity {
  /** First 16 bytes of the SHA-256 of the public key, hex. */
  readonly id: string;
  readonly name: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export async function loadIdentity(keyFile: string, name: string): Promise<NodeIdentity> {
  const pem = await readFile(keyFile, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const privateKey = pem === null ? await makeKey(keyFile) : parseKey(pem, keyFile);
  const publicKey = createPublicKey(privateKey);
  return { id: nodeIdOf(publicKey), name, privateKey, publicKey };
}

async function makeKey(keyFile: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync("ed25519");
  await writeDurably(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  return privateKey;
}

function parseKey(pem: string, keyFile: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new ConfigError("CONFIG_UNREADABLE", `The node's key ${keyFile} cannot be read.`, {
      cause,
      hint: "Restore it from a backup, or move it away: the node then gets a new identity.",
    });
  }
}
