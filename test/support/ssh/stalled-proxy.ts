/** The way to an SSH server that can fall silent: connections stay open and carry nothing, new ones are accepted and get no word. */

import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createFakeTools } from "../fake-tools.ts";
import { startStalledPort } from "../faults/stalled-port.ts";
import { startSshd } from "./sshd.ts";

export interface StalledProxy {
  /** `ssh://user@127.0.0.1:port`. */
  readonly url: string;
  /** In front of PATH: an `ssh` that knows this server alone, and nothing of the user's own configuration. */
  readonly programs: string;
  silence(): void;
  /** What hung is cut, and new connections get through. */
  speak(): void;
  stop(): Promise<void>;
}

export async function startStalledProxy(): Promise<StalledProxy> {
  const server = await startSshd({ environment: { PATH: process.env.PATH ?? "" } });
  const proxy = await startStalledPort(server);
  const tools = await createFakeTools();
  const knownHosts = join(tools.directory, "known_hosts");
  const configuration = join(tools.directory, "config");
  await writeFile(knownHosts, `[127.0.0.1]:${proxy.port} ${server.hostKey}\n`);
  const lines = [
    `UserKnownHostsFile ${knownHosts}`,
    "GlobalKnownHostsFile /dev/null",
    `IdentityFile ${server.identityFile}`,
  ];
  await writeFile(configuration, `${[...lines, "IdentitiesOnly yes", "IdentityAgent none"].join("\n")}\n`);
  await tools.add("ssh", `PATH=\${PATH#*${tools.directory}${delimiter}} exec ssh -F ${configuration} "$@"`);

  return {
    url: `ssh://${server.user}@127.0.0.1:${proxy.port}`,
    programs: tools.directory,
    silence: () => proxy.silence(),
    speak: () => proxy.speak(),
    async stop() {
      proxy.stop();
      await server.stop();
      await tools.remove();
    },
  };
}
