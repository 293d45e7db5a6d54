/** Where the tokens of a login could be, of a stack on Docker: each as text, as anybody can read it who may. */

import { join } from "node:path";
import { execa } from "execa";
import { docker } from "../docker/containers.ts";

/** Files of a node's container, its volumes included, that hold one of the words. */
export async function filesInContainer(container: string, words: readonly string[]): Promise<string[]> {
  const places = ["/etc/cairn", "/var/lib/cairn", "/srv", "/run", "/tmp", "/opt/cairn/application"];
  // Words come by its input: as arguments they would be found in /proc.
  const grep = ["exec", "--interactive", container, "grep", "-rlsF", "-f", "-", ...places];
  const { stdout } = await execa("docker", grep, { input: `${words.join("\n")}\n`, reject: false });
  return stdout.split("\n").filter((line) => line !== "");
}

/** Environments and command lines of its processes. */
export function processesOf(container: string): Promise<string> {
  return docker(
    "exec",
    container,
    "sh",
    "-c",
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'",
  );
}

/** Standard output and error since its start. */
export async function logOf(container: string): Promise<string> {
  const { all } = await execa("docker", ["logs", container], { all: true });
  return all;
}

/** All that Docker tells of its containers, volumes, networks and images. */
export async function inspected(stack: string, images: readonly string[]): Promise<string> {
  const lines = async (...args: string[]) => (await docker(...args)).split("\n").filter((line) => line !== "");
  const filter = ["--filter", `name=${stack}`];
  const ids = [
    ...(await lines("ps", "--all", "--quiet", ...filter)),
    ...(await lines("volume", "ls", "--quiet", ...filter)),
    ...(await lines("network", "ls", "--quiet", ...filter)),
    ...images,
  ];
  return docker("inspect", ...ids);
}

/** The whole database, as text. */
export function dumped(container: string): Promise<string> {
  return docker("exec", container, "pg_dumpall", "-U", "postgres");
}

/** The engine's state, with its secrets in the clear. */
export async function exported(dir: string, stack: string): Promise<string> {
  const { stdout } = await execa(
    "pulumi",
    ["stack", "export", "--show-secrets", "--stack", stack, "--non-interactive"],
    {
      cwd: join(dir, "infra"),
      env: { PULUMI_CONFIG_PASSPHRASE_FILE: ".passphrase", PULUMI_SKIP_UPDATE_CHECK: "true" },
    },
  );
  return stdout;
}
