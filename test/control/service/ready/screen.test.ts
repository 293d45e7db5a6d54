/** `cairn start` on a pseudo-terminal, with the stand-in as its node. */

import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { lacks } from "../../../lanes/tools.ts";
import { createCli } from "../../../support/cli.ts";
import { untilAnnounced, untilGone } from "../../../support/real-service.ts";
import { KEYS, openTerminal } from "../../../support/terminal/terminal.ts";

const PROGRAM = fileURLToPath(new URL("../../../support/cairn.ts", import.meta.url));
const LAST_KEY = "the node ends, too";

describe.skipIf(lacks("pseudo-terminal"))("a node on a terminal", () => {
  it("opens commands by keys, comes back to its screen, and ends by q", async () => {
    const { session, node } = await opened({ NO_COLOR: "1", TERM: "dumb" });
    session.type("d");
    await session.until(/\d+ pass, \d+ warn/);
    await session.until(LAST_KEY);
    session.type("q");
    await session.until("The node has stopped.");
    expect(await session.ended).toBe(0);
    await untilGone(node);
  });

  it("gives Ctrl-C to the command that a key has opened, and takes the next one", async () => {
    const { session, cli, node } = await opened();
    session.type("d");
    session.type(KEYS.interrupt);
    await session.until(LAST_KEY);
    expect((await cli.run(["status"])).code).toBe(0);
    session.type(KEYS.interrupt);
    await session.until("The node has stopped.");
    expect(await session.ended).toBe(0);
    await untilGone(node);
  });

  it("waits for the drain after SIGTERM", async () => {
    const { session, node } = await opened({ STAND_IN: "slow-stop" });
    process.kill(await session.pid, "SIGTERM");
    await session.until("The node has stopped.");
    expect(await session.ended).toBe(0);
    await untilGone(node);
  });

  it("does not leave its node behind when it is killed", async () => {
    const { session, node } = await opened();
    process.kill(await session.pid, "SIGKILL");
    await untilGone(node);
  });

  it("leaves a node alone that another command has restarted", async () => {
    const { session, cli } = await opened();
    const restarted = await cli.run(["restart"]);
    expect(restarted, restarted.stderr).toMatchObject({ code: 0 });
    await session.until("runs in the background");
    expect(await session.ended).toBe(0);
    expect((await cli.run(["status"])).code).toBe(0);
  });

  it("fails with a node that has ended by itself", async () => {
    const { session, node } = await opened();
    process.kill(node, "SIGKILL");
    await session.until("ended by itself (signal SIGKILL)");
    expect(await session.ended).toBe(1);
  });
});

async function opened(env: NodeJS.ProcessEnv = {}) {
  const cli = await createCli();
  // A node of this machine's user may have the usual port.
  cli.env["SERVICE_LISTEN"] = "127.0.0.1:0";
  const session = openTerminal([PROGRAM, "start"], { cwd: cli.home, env: { ...cli.env, ...env } });
  await session.until(LAST_KEY);
  return { cli, session, node: (await untilAnnounced(cli.home)).pid };
}
