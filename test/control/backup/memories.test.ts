/** Files of a deployed node, read by a command in its container. */

import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { saveNodeFiles } from "../../../control/backup/memories.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const signal = new AbortController().signal;

function stack(line: string) {
  return { driver: { enter: async () => ({ program: "sh", args: ["-c", line], close: async () => undefined }) } };
}

it("are given up where the host falls silent in the middle of them", async () => {
  const path = join(await temporaryDirectory(), "files");
  await expect(saveNodeFiles(stack("echo half; exec sleep 3600"), "nova-1", path, signal, 200)).rejects.toMatchObject({
    code: "INFRA_HOST_UNREACHABLE",
    message: "The files of nova-1 cannot be read: its host has fallen silent.",
  });
});

it("are missing, and not empty, where docker or kubectl cannot enter the node", async () => {
  const path = join(await temporaryDirectory(), "files");
  const line = "echo 'Error response from daemon: No such container: lab-nova-1' >&2; exit 1";
  await expect(saveNodeFiles(stack(line), "nova-1", path, signal)).rejects.toMatchObject({
    code: "INFRA_FAILED",
    message: "The files of nova-1 cannot be read: Error response from daemon: No such container: lab-nova-1.",
  });
});

it("are taken where one was written while tar read it", async () => {
  const path = join(await temporaryDirectory(), "files");
  const line = "echo files | gzip; echo 'tar: srv/cairn/log: file changed as we read it' >&2; exit 1";
  await saveNodeFiles(stack(line), "nova-1", path, signal);
  expect(gunzipSync(await readFile(path)).toString()).toBe("files\n");
});

it("are all of what the command prints", async () => {
  const path = join(await temporaryDirectory(), "files");
  await saveNodeFiles(stack("head -c 3000000 /dev/zero | gzip -1"), "nova-1", path, signal);
  expect(gunzipSync(await readFile(path)).length).toBe(3_000_000);
});

const HALF = "head -c 100000 /dev/urandom | gzip | head -c 50000";

it.each([
  ["without an error", HALF],
  ["after a file was written meanwhile", `${HALF}; echo 'tar: log: file changed as we read it' >&2; exit 1`],
])("are not taken where they ended early %s", async (_how, line) => {
  const path = join(await temporaryDirectory(), "files");
  await expect(saveNodeFiles(stack(line), "nova-1", path, signal)).rejects.toMatchObject({
    code: "INFRA_FAILED",
    message: "The files of nova-1 cannot be read: they ended before they were whole.",
  });
});

it("find no room on a disk of this machine that is full, which is not the node's fault", async () => {
  const path = join(await temporaryDirectory(), "files");
  await symlink("/dev/full", path);
  await expect(saveNodeFiles(stack("cat /dev/zero"), "nova-1", path, signal)).rejects.toMatchObject({ code: "ENOSPC" });
});
