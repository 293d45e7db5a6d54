/**
 * Seals bytes with a passphrase, in the format of age (age-encryption.org/v1, scrypt): the program `age` opens it, too. Every 64 KiB
 * are authenticated, and so is the end: what was altered or cut off is noticed.
 */

import { Decrypter, Encrypter } from "age-encryption";
import { MemoryError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { invalid } from "./manifest.ts";

/** Deriving the key takes 256 MiB of memory and about a second, here and for everyone who guesses. */
export async function* seal(bytes: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  yield* await encrypter.encrypt(ReadableStream.from(bytes));
}

/** MEMORY_ARCHIVE_INVALID for another passphrase, for no such file, and, at the end at the latest, for one that was altered. */
export async function* unseal(bytes: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  let opened = false;
  try {
    const plain = await decrypter.decrypt(ReadableStream.from(bytes));
    opened = true;
    yield* plain;
  } catch (error) {
    throw isForeign(error) ? error : opened ? invalid("it is cut off or was altered", error) : unopened(error);
  }
}

/** Of what the bytes came from, or went to. */
function isForeign(error: unknown): boolean {
  return codeOf(error) !== undefined || error instanceof MemoryError || !isOfLibrary(error);
}

/** The library throws plain errors alone. */
function isOfLibrary(error: unknown): error is Error {
  return error instanceof Error && (error.constructor === Error || error.constructor === TypeError);
}

function unopened(error: unknown): MemoryError {
  const said = error instanceof Error ? error.message : "";
  if (!said.startsWith("no identity matched")) return invalid("it is no file of `cairn backup`, or is cut off", error);
  return new MemoryError("MEMORY_ARCHIVE_INVALID", "The passphrase does not open this backup.", {
    hint: "Nothing else opens it. Where the passphrase is the right one, the beginning of the file was altered.",
    cause: error,
  });
}
