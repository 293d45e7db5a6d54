/** `cairn login` in a process, as far as the address that it shows. */

import type { ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import type { OAuthFake } from "../../fakes/oauth/index.ts";
import { type Cli, outcomeOf, type RunOptions } from "../cli.ts";

export interface StartedLogin {
  readonly child: ChildProcess;
  /** Rejects where the command ends before it shows one. */
  readonly address: Promise<string>;
  readonly outcome: ReturnType<typeof outcomeOf>;
}

export function startLogin(
  cli: Cli,
  oauth: OAuthFake,
  argv: readonly string[] = [],
  options: RunOptions = {},
): StartedLogin {
  const child = cli.start(["login", ...argv], options);
  const address = new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (piece: Buffer) => {
      said += piece.toString("utf8");
      const found = said.split(/\s/).find((word) => word.startsWith(`${oauth.url}/authorize?`));
      if (found !== undefined && said.endsWith("\n")) resolve(found);
    });
    child.once("close", () => reject(new Error(`it ended after it had said: ${said}`)));
  });
  address.catch(() => undefined);
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, address, outcome: outcomeOf(child) };
}
