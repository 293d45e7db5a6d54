/** Scheduled backups in words. Ages are by the clock of the node that tells of them: this machine's may be another. Pure. */

import type { BackupStatus } from "../../runtime/client/index.ts";
import { duration } from "../output/words.ts";

/** Milliseconds from a time of the node's to its answer. An older node does not say when that was: then by this machine's clock. */
export function ageMs(time: string, { now }: { readonly now?: string | undefined }): number {
  return (now === undefined ? Date.now() : Date.parse(now)) - Date.parse(time);
}

/** When the next backup comes, or why none does; null for an older node, which does not tell. */
export function nextWords(status: BackupStatus): string | null {
  const { state, every_s: every, next_at: next, last } = status;
  if (state === "off") return "Scheduled backups are switched off (memory.backup.enabled).";
  if (state === "empty") return "The first one is taken soon after the first message.";
  if (next === undefined || next === null) return null;
  const inMs = -ageMs(next, status);
  const which = last === null ? "first" : "next";
  // A node that has just started resumes its turns before it takes one.
  const when = inMs <= 0 ? "due now, and is taken within two minutes" : `due in ${duration(inMs)}`;
  return `The ${which} one is ${when}; one is taken every ${duration(every * 1_000)}.`;
}
