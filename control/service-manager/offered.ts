/** Whether `service install` would work on this machine, looked at before somebody is asked whether to do it. */
import { homedir } from "node:os";
import process from "node:process";
import type { Environment } from "../../runtime/config/index.ts";
import { askTool } from "../wizard/detect/tool.ts";
import { managerFor, readOwn } from "./install.ts";
import { refuseOfAnother } from "./owner.ts";
import type { ServiceDescription } from "./service.ts";

export interface OfferedService {
  readonly scope: ServiceDescription["scope"];
  /** The unit that is there, or would be written. */
  readonly file: string;
  readonly installed: boolean;
}

const NAME = "cairn";
const ANSWER_MS = 2_500;

/** Null where no manager answers, and where its service of that name is of another deployment directory or another writer. */
export async function offeredService(
  dir: string,
  env: Environment,
  signal: AbortSignal,
): Promise<OfferedService | null> {
  const uid = process.getuid?.() ?? 0;
  const scope = uid === 0 ? "system" : "user";
  const nothing = { name: NAME, scope, dir, writable: [], environment: {}, stopSeconds: 0, user: null } as const;
  const machine = { platform: process.platform, uid, home: homedir(), configHome: env["XDG_CONFIG_HOME"] };
  try {
    const { kind, file } = managerFor(nothing, machine);
    if (kind === "systemd" && !(await answers(scope, env, signal))) return null;
    const existing = await readOwn(file);
    await refuseOfAnother(existing, nothing, dir);
    return { scope, file, installed: existing !== null };
  } catch {
    // `cairn service install` says why.
    return null;
  }
}

/** Without a login session a user's manager is not there; in a container, the machine's is not. */
async function answers(scope: OfferedService["scope"], env: Environment, signal: AbortSignal): Promise<boolean> {
  const args = [...(scope === "user" ? ["--user"] : []), "show", "--property=Version"];
  const answer = await askTool({ program: "systemctl", args, env, timeoutMs: ANSWER_MS, signal });
  return answer?.ok === true && answer.stdout.includes("Version=");
}
