/**
 * All processes that a command started. Its process group is not enough: a child may have left it (`setsid`), and one
 * that outlived its parent is not a descendant any more, but still carries the mark in its environment.
 */

import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

export interface ProcessFamily {
  /** Process id of the leader, which is also its group's. */
  readonly leader: number;
  /** `NAME=value` in the environment of every process of the family, unless it dropped it. */
  readonly mark: string;
}

const KILL_ROUNDS = 20;
const ROUND_MS = 25;

/** Sends SIGTERM to the leader's descendants and group, so that programs can end in an orderly way. */
export async function askToEnd(family: ProcessFamily, confined: boolean): Promise<void> {
  const members = await membersOf(family);
  // The leader of a sandbox is bubblewrap itself: ended first, it would take the others with it at once.
  for (const pid of members) if (!(confined && pid === family.leader)) signal(pid, "SIGTERM");
  if (!confined) signal(-family.leader, "SIGTERM");
}

/** Sends SIGKILL until no process of the family is left, children that were forked meanwhile included. */
export async function kill(family: ProcessFamily, leaderAlive: boolean): Promise<void> {
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    const members = await membersOf(family);
    // The group's number may belong to someone else once its leader is gone: then only looked-up members are signalled.
    if (leaderAlive && round === 0) signal(-family.leader, "SIGKILL");
    if (members.length === 0) return;
    for (const pid of members) signal(pid, "SIGKILL");
    await delay(ROUND_MS);
  }
}

/** Linux lists them; elsewhere the group is all there is. Zombies are not counted: they hold nothing and are not ours to reap. */
async function membersOf(family: ProcessFamily): Promise<number[]> {
  const processes = await listProcesses();
  const members = new Set<number>();
  const byParent = Map.groupBy(processes, ({ parent }) => parent);
  const visit = (pid: number) => {
    for (const child of byParent.get(pid) ?? []) {
      if (members.has(child.pid)) continue;
      members.add(child.pid);
      visit(child.pid);
    }
  };
  visit(family.leader);
  for (const { pid, group } of processes) if (pid === family.leader || group === family.leader) members.add(pid);
  for (const pid of await markedProcesses(processes, family.mark)) members.add(pid);
  return [...members];
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

async function listProcesses(): Promise<ProcessEntry[]> {
  const names = await readdir("/proc").catch(() => []);
  const entries = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readProcess));
  return entries.filter((entry) => entry !== null);
}

async function readProcess(name: string): Promise<ProcessEntry | null> {
  const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => null);
  // pid (command) state ppid pgrp ...: the command may hold spaces and parentheses, so the last one counts.
  const [state, parent, group] = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  if (state === undefined || state === "Z" || state === "X") return null;
  return { pid: Number(name), parent: Number(parent), group: Number(group) };
}

async function markedProcesses(processes: readonly ProcessEntry[], mark: string): Promise<number[]> {
  const marked = await Promise.all(
    processes.map(async ({ pid }) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(mark) ? pid : null;
    }),
  );
  return marked.filter((pid) => pid !== null);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already, or (inside a user namespace) not ours: the end of the namespace takes it.
  }
}
