/** A command on the Proxmox host as a Pulumi resource: what it runs is its identity, so that equal plans show no change. */

import { remote } from "@pulumi/command";
import type { CustomResourceOptions, Input } from "@pulumi/pulumi";
import type { ProxmoxPlan } from "../../plan/types.ts";
import { connectionArgs } from "./connection.ts";
import { remoteLine } from "./member.ts";
import { PRELUDE, script } from "./shell.ts";

export interface RemoteCommand {
  /** Runs at creation, and again whenever it, its input or the connection changed: must be repeatable. */
  readonly ensure: readonly string[];
  /** Runs when the resource goes; null: nothing does. */
  readonly remove: readonly string[] | null;
  /** A secret, in the state, too. Never an argument, never an environment variable. */
  readonly stdin?: Input<string>;
  /** Member of the cluster; null: the host itself. */
  readonly member: string | null;
  /** A change of these makes the resource anew, the old one removed first: both have one name on the host. */
  readonly replaceOn?: readonly string[];
}

/** The commands of one host. */
export type RemoteHost = (name: string, command: RemoteCommand, options: CustomResourceOptions) => remote.Command;

export function remoteHost(plan: ProxmoxPlan): RemoteHost {
  const connection = connectionArgs(plan.ssh);
  return (name, command, options) => {
    const line = (argv: readonly string[]): string => remoteLine({ user: plan.ssh.user, member: command.member }, argv);
    const ensure = line(command.ensure);
    const { replaceOn, stdin } = command;
    const remove = command.remove ?? ["true"];
    return new remote.Command(
      name,
      {
        connection,
        create: ensure,
        // Repeated, because without it a changed trigger would replace what can be changed in place.
        update: ensure,
        // The provider sends the input at the end, too, and fails when it is not read.
        delete: line(stdin === undefined ? remove : script(DRAIN, remove)),
        ...(stdin === undefined ? {} : { stdin }),
        ...(replaceOn === undefined ? {} : { triggers: [...replaceOn] }),
        // Both would copy output of the host into logs and environments, where it is not expected.
        addPreviousOutputInEnv: false,
        logging: remote.Logging.Stderr,
      },
      {
        additionalSecretOutputs: ["stdout", "stderr"],
        ...(replaceOn === undefined ? {} : { replaceOnChanges: ["triggers"], deleteBeforeReplace: true }),
        ...options,
      },
    );
  };
}

const DRAIN = `${PRELUDE}cat >/dev/null
exec "$@"
`;
