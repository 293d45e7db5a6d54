/** Codes by which the owner of a node recognises somebody who has written to it. */

/** Without letters and digits that are read as others. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 8;

/** `bytes`: at least eight, at random. 32 letters: each byte gives one of them with the same chance. */
export function pairingCode(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** As people type it: in small letters, with spaces or a hyphen in it. */
export function normalizeCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, "").toUpperCase();
}

/** As people read it: `ABCD-EFGH`. */
export function shownCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}
