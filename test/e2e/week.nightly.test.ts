/** The operator's week of docs/examples, typed anew: every command ends as the script says, and no fact is lost on the way. */

import { symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { CAIRN } from "../support/commands.ts";
import { temporaryDirectory } from "../support/deployment.ts";
import { ensureNextPostgres, ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { removeStack } from "../support/docker-lane.ts";

const SCRIPT = fileURLToPath(new URL("../../docs/examples/week/docker.sh", import.meta.url));
/** Its own name for the stack. */
const STACK = "week";

describe.skipIf(lacks("docker", "docker-images", "pulumi-docker", "pulumi-command"))("an operator's week", () => {
  it("on Docker goes as it is printed in the documents", { timeout: 2 * IMAGES_TIMEOUT_MS }, async () => {
    const images = await ensureTestImages();
    const next = await ensureNextPostgres();
    const [directory, bin, home] = [await temporaryDirectory(), await temporaryDirectory(), await temporaryDirectory()];
    await symlink(CAIRN, join(bin, "cairn"));
    onTestFinished(() => removeStack(STACK));
    const { exitCode, all } = await execa("bash", [SCRIPT, directory], {
      all: true,
      reject: false,
      stdin: "ignore",
      env: {
        PATH: [bin, process.env["PATH"]].join(delimiter),
        SERVICE_HOME: join(home, "cairn"),
        BASE_IMAGE: images.node,
        POSTGRES_IMAGE: images.postgres,
        NEXT_POSTGRES_IMAGE: next,
      },
    });
    expect(exitCode, all).toBe(0);
    expect(all).toContain("# Sunday");
    expect(all).not.toContain("lost: ");
  });
});
