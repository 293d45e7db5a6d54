/** What an upgrade of PostgreSQL needs, and whether both servers have the same. Pure. */

import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { bytes } from "../../../output/words.ts";
import type { Room } from "../../driver.ts";

/** Room for the copy, for what its indexes need while they are built, and for the write-ahead log of both. */
const ROOM = 1.5;
const GIB = 1024 ** 3;
const HOST_DISK = "Make room on the host's disk, such as with `docker image prune`, and run the same command again.";

export interface Majors {
  readonly server: number;
  /** Null: nothing has written any. */
  readonly data: number | null;
}

/** INFRA_UP_REFUSED for data of another major than the server that would start on them. */
export function refuseOtherMajor({ server, data }: Majors, image: string, deployed: boolean): void {
  if (data === null || data === server) return;
  const former = `Set deployment.datahub.image to an image of PostgreSQL ${data}`;
  const upgrade = deployed
    ? "`cairn infra postgres upgrade` moves them."
    : `${former}, run \`cairn infra up\`, and then \`cairn infra postgres upgrade --to ${image}\`.`;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `The data were written by PostgreSQL ${data}, and ${image} has PostgreSQL ${server}.`,
    { hint: server > data ? upgrade : `${former}: data never go back to an earlier one.` },
  );
}

/** Whether there is something to do. INFRA_UP_REFUSED for an earlier major. */
export function isUpgrade({ server, data }: Majors, image: string): boolean {
  if (data !== null && server >= data) return server > data;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `The data are PostgreSQL ${data ?? "unknown"}'s, and ${image} has PostgreSQL ${server}.`,
    {
      hint: "Name an image of a later major with --to: data never go back to an earlier one.",
    },
  );
}

/** INFRA_DISK_FULL where a second copy of the data does not fit beside the first. */
export function refuseTooLarge({ used, free, remedy = HOST_DISK }: Room): void {
  const needed = Math.max(used * ROOM, used + GIB);
  if (free >= needed) return;
  throw new InfraError(
    "INFRA_DISK_FULL",
    `A second copy of the data needs ${bytes(needed)}, and their disk has ${bytes(free)} free.`,
    { hint: remedy },
  );
}

/** Tables and rows of what both have. INFRA_FAILED names the first line that only one of them has. */
export function compareContents(own: readonly string[], second: readonly string[]): { tables: number; rows: number } {
  const there = new Set(second);
  const here = new Set(own);
  const different = own.find((line) => !there.has(line)) ?? second.find((line) => !here.has(line));
  if (different !== undefined || own.length !== second.length) {
    throw new InfraError("INFRA_FAILED", `The copy is not what was copied: ${different ?? "a line is there twice"}.`, {
      hint: "The former server goes on. Run the same command again; if it stays, keep the backup and report it.",
    });
  }
  if (!here.has("extension vector")) {
    throw new InfraError("INFRA_FAILED", "The copy does not have the extension vector.");
  }
  const tables = own.filter((line) => line.startsWith("rows "));
  return { tables: tables.length, rows: tables.reduce((sum, line) => sum + Number(line.split("|")[1] ?? 0), 0) };
}
