/** The way to an SSH server that can fall silent: connections stay open and carry nothing, new ones are accepted and get no word. */

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createFakeTools } from "../fake-tools.ts";
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
  const open = new Set<Socket>();
  let stalled = false;
  const hold = (socket: Socket): void => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  const proxy = createServer((from) => {
    hold(from);
    if (stalled) return;
    const to = connect(server.port, server.host);
    hold(to);
    from.pipe(to).once("close", () => from.destroy());
    to.pipe(from).once("close", () => to.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;

  const tools = await createFakeTools();
  const knownHosts = join(tools.directory, "known_hosts");
  const configuration = join(tools.directory, "config");
  await writeFile(knownHosts, `[127.0.0.1]:${port} ${server.hostKey}\n`);
  const lines = [
    `UserKnownHostsFile ${knownHosts}`,
    "GlobalKnownHostsFile /dev/null",
    `IdentityFile ${server.identityFile}`,
  ];
  await writeFile(configuration, `${[...lines, "IdentitiesOnly yes", "IdentityAgent none"].join("\n")}\n`);
  await tools.add("ssh", `PATH=\${PATH#*${tools.directory}${delimiter}} exec ssh -F ${configuration} "$@"`);

  return {
    url: `ssh://${server.user}@127.0.0.1:${port}`,
    programs: tools.directory,
    silence() {
      stalled = true;
      for (const socket of open) socket.unpipe().pause();
    },
    speak() {
      stalled = false;
      for (const socket of open) socket.destroy();
    },
    async stop() {
      for (const socket of open) socket.destroy();
      proxy.close();
      await server.stop();
      await tools.remove();
    },
  };
}
