/** How the Pulumi provider reaches the Proxmox host: the key pinned, the private key as a secret of the state. */

import { readFileSync } from "node:fs";
import type { types } from "@pulumi/command";
import { secret } from "@pulumi/pulumi";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { ProxmoxPlan } from "../../plan/types.ts";

/** Attempts and seconds: the driver's preflight has connected before, so what fails now is not worth the provider's ten minutes. */
const RETRIES = 3;
const DIAL_TIMEOUT_S = 15;

/**
 * Throws INFRA_PLAN_INVALID without a host key (the provider would take any) and when the identity file cannot be read.
 * Without an identity file the provider uses the SSH agent at SSH_AUTH_SOCK.
 */
export function connectionArgs(ssh: ProxmoxPlan["ssh"]): types.input.remote.ConnectionArgs {
  if (!/^(?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/=]+$/.test(ssh.hostKey)) {
    throw new InfraError("INFRA_PLAN_INVALID", "deployment.proxmox.host_key is not a public key.", {
      hint: `Ask the host's administrator for it, or compare: ssh-keyscan -t ed25519 -p ${ssh.port} ${ssh.host}`,
    });
  }
  return {
    host: ssh.host,
    port: ssh.port,
    user: ssh.user,
    hostKey: ssh.hostKey,
    dialErrorLimit: RETRIES,
    perDialTimeout: DIAL_TIMEOUT_S,
    ...(ssh.identityFile === null ? {} : { privateKey: secret(privateKey(ssh.identityFile)) }),
  };
}

function privateKey(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new InfraError("INFRA_PLAN_INVALID", `The SSH key ${path} cannot be read.`, {
      cause,
      hint: "Correct deployment.proxmox.identity_file, or leave it out to use the keys of your SSH agent.",
    });
  }
}
