/** Checks a command that starts in a workspace. */

import { checkShellCommand } from "../../../../runtime/domain/shell-danger.ts";

export const check = (command: string, directory = "/srv/agent/ws") =>
  checkShellCommand(command, { workspace: "/srv/agent/ws", directory });

export const base64 = (text: string) => Buffer.from(text).toString("base64");
export const hex = (text: string) => Buffer.from(text).toString("hex");
