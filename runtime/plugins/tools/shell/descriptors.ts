/**
 * Files that the program which started the service left open. Node marks those below 16 to be closed in children and stops
 * at the first gap after that; a command must get none of them.
 */

import { type FileHandle, open, readdir, readFile } from "node:fs/promises";

/** O_CLOEXEC as /proc shows it. */
const CLOSED_IN_CHILDREN = 0o2000000;
const FIRST_BEYOND_STANDARD = 3;

/** A socket to the service, by which the launched shell asks whether the command shall begin. */
export const START_DESCRIPTOR = 4;

export interface CommandDescriptors extends AsyncDisposable {
  /** What `spawn` puts in the places from number 3 on: the filter, a socket, and /dev/null in the place of each inherited one. */
  readonly beyondStandard: readonly (number | "ignore" | "pipe")[];
}

/** Takes over the filter: it is closed with the rest when this is disposed. */
export async function commandDescriptors(
  filter: FileHandle | null,
  inherited: readonly number[],
): Promise<CommandDescriptors> {
  // Opened for each command: where nothing can be opened any more, nothing is started either.
  const nothing = await open("/dev/null", "r");
  const places: (number | "pipe")[] = [];
  for (const descriptor of inherited) places[descriptor - FIRST_BEYOND_STANDARD] = nothing.fd;
  if (filter !== null) places[0] = filter.fd;
  places[START_DESCRIPTOR - FIRST_BEYOND_STANDARD] = "pipe";
  return {
    beyondStandard: Array.from(places, (place) => place ?? "ignore"),
    async [Symbol.asyncDispose]() {
      await Promise.all([nothing.close(), filter?.close()]);
    },
  };
}

/** Descriptors that a child would get; none where the system does not list them. */
export async function inheritableDescriptors(): Promise<readonly number[]> {
  const names = await readdir("/proc/self/fdinfo").catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      const info = await readFile(`/proc/self/fdinfo/${name}`, "utf8").catch(() => "");
      const flags = /^flags:\s+([0-7]+)/m.exec(info)?.[1];
      const closes = flags === undefined || (Number.parseInt(flags, 8) & CLOSED_IN_CHILDREN) !== 0;
      return closes || Number(name) < FIRST_BEYOND_STANDARD ? null : Number(name);
    }),
  );
  return found.filter((descriptor) => descriptor !== null);
}
