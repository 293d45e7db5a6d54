/** A program of another user that has taken a port of this machine, and keeps what is sent to it. For tests that root runs. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { onTestFinished } from "vitest";

const NOBODY = 65_534;
const PROGRAM = `
  const { createServer } = require("node:http");
  const server = createServer((request, response) => {
    process.stdout.write(JSON.stringify(request.headers) + "\\n");
    response.end("{}");
  });
  server.listen(Number(process.argv[1]), "127.0.0.1", () => process.send(server.address().port));
`;

export interface ForeignListener {
  readonly port: number;
  /** The headers of what was sent, as text. */
  received(): string;
}

/** `wanted`: the port; 0 for any. */
export async function startForeignListener(wanted = 0): Promise<ForeignListener> {
  const child: ChildProcess = spawn(process.execPath, ["--eval", PROGRAM, String(wanted)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    uid: NOBODY,
    gid: NOBODY,
    cwd: "/",
    env: {},
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let received = "";
  child.stdout?.on("data", (piece: Buffer) => {
    received += piece.toString("utf8");
  });
  const [port] = await once(child, "message");
  return { port: Number(port), received: () => received };
}
