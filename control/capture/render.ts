/** The results of the capture commands in words. */

import type { Mark } from "../output/terminal.ts";
import type { BackfillResult, FlushResult } from "./deliver.ts";
import type { CaptureStatus, InstallResult } from "./install.ts";

export function renderInstall(result: InstallResult & { readonly node: string }, mark: Mark): string {
  const { harness, file, changed, backup, found, next, node } = result;
  return [
    `${mark.good(changed ? "Installed" : "Installed already:")} ${changed ? "in " : ""}${file}`,
    ...(backup === null ? [] : [`What was there before is in ${backup}.`]),
    ...(found ? [] : [`${mark.warn("Note:")} ${harness} has not run on this machine yet.`]),
    ...(next === null ? [] : [`${mark.warn("Next:")} ${next}`]),
    `Sessions go to ${node}. Bring in older ones with: \`cairn capture backfill ${harness}\``,
  ].join("\n");
}

export function renderUninstall(result: InstallResult, mark: Mark): string {
  const { file, changed, backup } = result;
  if (!changed) return `There was no hook of Cairn's in ${file}.`;
  const stays = "What was captured stays in the memory.";
  if (backup === null) return `${mark.good("Removed")} ${file}, which held nothing else. ${stays}`;
  return [
    `${mark.good("Removed")} the hook from ${file}. ${stays}`,
    `What was there before, with the hook, is in ${backup}: delete it when all is well.`,
  ].join("\n");
}

export function renderStatus({ harnesses, node, spool, log }: CaptureStatus, mark: Mark): string {
  const lines = harnesses.map(({ harness, installed, found, file, problem }) => {
    const state = installed ? mark.good("installed") : found ? "not installed" : mark.dim("not on this machine");
    return `${harness.padEnd(12)} ${state}${installed ? ` in ${file}` : ""}${problem === null ? "" : `\n  ${mark.warn(problem)}`}`;
  });
  const dead = spool.dead > 0 ? `, ${mark.warn(`${spool.dead} refused by the node (cairn capture flush --dead)`)}` : "";
  const bad = spool.bad > 0 ? `, ${mark.warn(`${spool.bad} unreadable`)}` : "";
  return [
    ...lines,
    `Node: ${node ?? "none yet"}`,
    `Spool: ${spool.waiting} waiting (${spool.bytes} bytes)${dead}${bad}, in ${spool.directory}`,
    `Log: ${log}`,
  ].join("\n");
}

export function renderBackfill({ sessions, events, failed, waiting }: BackfillResult, mark: Mark): string {
  return [
    `${mark.good("Done:")} ${events} events of ${sessions} sessions.`,
    ...failed.map(({ session, reason }) => `${mark.warn("Not read:")} ${session}: ${reason}`),
    ...(waiting > 0 ? [`${mark.warn("Waiting:")} ${waiting} batches are in the spool until the node takes them.`] : []),
  ].join("\n");
}

export function renderFlush({ stored, dead, waiting, requeued, reason }: FlushResult, mark: Mark): string {
  return [
    ...(requeued > 0 ? [`${requeued} refused batches were queued again.`] : []),
    `${stored} delivered, ${dead} refused, ${waiting} waiting.`,
    ...(reason === undefined ? [] : [`${mark.warn("The node did not take the rest:")} ${reason}`]),
  ].join("\n");
}
