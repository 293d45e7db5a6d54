/** `token rotate`: another token of the owner's in `.env`, and the node of this machine started anew with it. */

import { join } from "node:path";
import process from "node:process";
import { readCaptureSettings } from "../../runtime/client/hook/settings.ts";
import { apiTokenSecret, generateApiToken } from "../../runtime/config/api-token.ts";
import { isSecretReference } from "../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE, readSecretsFile, SECRETS_FILE, setSecret } from "../../runtime/config/secrets-file.ts";
import { CairnError, ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { deployedRecord } from "../service/deployed-stack.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";
import { prepare } from "../service/launch.ts";
import { announcedEndpoint, clientOf } from "../service/node-client.ts";
import { withRemark } from "../service/rehearse.ts";
import { inspectNode } from "../service/stale-node-file.ts";
import { restartRehearsed } from "../service-manager/restart-rehearsed.ts";
import { withEditLock } from "./replace.ts";

const ANSWER_MS = 5_000;

/** What has the former token still, and the command that gives it another one. */
export interface TokenHolder {
  readonly kind: "stack" | "capture";
  readonly name: string;
  readonly command: string;
}

export interface Rotation {
  readonly token: string;
  /** The file that has it. */
  readonly file: string;
  /** The node of this machine that was started anew with it; null where none ran. */
  readonly node: { readonly pid: number; readonly url: string } | null;
  readonly holders: readonly TokenHolder[];
}

export interface RotateOptions {
  readonly signal: AbortSignal;
  readonly onStep?: (step: string) => void;
}

/**
 * The file has the former token or the new one at every moment; where the command ends between the file and the node, `restart`
 * completes it. CONFIG_INVALID where `.env` is not what the token comes from, RUNTIME_CONFLICT while another command changes the
 * file; errors of `setSecret`, of a restart and of `requireTaken`.
 */
export async function rotateOwnerToken(deployment: Deployment, options: RotateOptions): Promise<Rotation> {
  const { dir, home } = deployment;
  const { signal } = options;
  if (!deployment.exists) await inspectWithoutSecrets(deployment, signal);
  const file = join(dir, SECRETS_FILE);
  return withEditLock(file, async () => {
    const former = await changeableToken(dir);
    const token = generateApiToken();
    let changed = false;
    const change = async (): Promise<void> => {
      await setSecret(dir, apiTokenSecret(token));
      changed = true;
    };
    const holders = await holdersOf(deployment, former);
    const { state } = await inspectNode(home);
    if (state === "busy") {
      throw new RuntimeError("RUNTIME_CONFLICT", "Another command works with the store; the token was not changed.", {
        hint: "Run it again once that one is done.",
      });
    }
    if (state === "stopped") {
      await change();
      return { token, file, node: null, holders };
    }
    const restarted = restartRehearsed(await prepare(deployment, signal), { ...options, change });
    const { pid, url } = await restarted.catch((error: unknown) => {
      if (!changed || !(error instanceof CairnError)) throw error;
      throw withRemark(error, "The token in .env is the new one.");
    });
    await requireTaken(home, token, signal);
    return { token, file, node: { pid, url }, holders };
  });
}

/** CONFIG_INVALID where the node was started with another token than `.env` has: a unit of the system may set one itself. */
async function requireTaken(home: string, token: string, signal: AbortSignal): Promise<void> {
  const state = await inspectNode(home);
  if (state.state !== "running") return;
  const client = clientOf(announcedEndpoint(state.node), { token });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    await client.health({ signal: deadline });
  } catch (error) {
    // A node that is not healthy, or slow, has taken it all the same.
    if (!(error instanceof CairnError && error.code === "RUNTIME_UNAUTHORIZED")) return;
    throw new ConfigError("CONFIG_INVALID", "The node was restarted and refuses the new token, which is in .env.", {
      hint: `What starts it sets ${API_TOKEN_VARIABLE} itself: take it out there, for example of the unit, and restart the node.`,
    });
  }
}

/** What `.env` has; undefined where that is none. */
async function changeableToken(dir: string): Promise<string | undefined> {
  if (process.env[API_TOKEN_VARIABLE]) {
    throw new ConfigError("CONFIG_INVALID", `The token is ${API_TOKEN_VARIABLE} of the environment, not of .env.`, {
      hint: "Change it where it is set, then run `cairn restart`; or unset it, and run this command again.",
    });
  }
  const { values } = await readSecretsFile(dir);
  const former = values[API_TOKEN_VARIABLE];
  if (former !== undefined && isSecretReference(former)) {
    throw new ConfigError("CONFIG_INVALID", `The token is kept in the password manager: .env has ${former}.`, {
      hint: "Change it there, then run `cairn restart`.",
    });
  }
  return former;
}

async function holdersOf(deployment: Deployment, former: string | undefined): Promise<TokenHolder[]> {
  const [record, capture] = await Promise.all([deployedRecord(deployment), readCaptureSettings(deployment.home)]);
  const holders: TokenHolder[] = [];
  if (record !== null) holders.push({ kind: "stack", name: record.stack, command: "cairn infra up" });
  if (capture !== null && capture.token === former) {
    holders.push({ kind: "capture", name: capture.base_url, command: "cairn capture install HARNESS" });
  }
  return holders;
}
