/** Where a deployment keeps what `infra` works with; everything lies under the rendered project `infra/`. */

import { join } from "node:path";

export interface InfraFiles {
  /** The rendered Pulumi project: the engine's work directory. */
  readonly project: string;
  /** Local backend, 0700. */
  readonly state: string;
  /** Passphrase of the stack's secrets, 0600. */
  readonly passphrase: string;
  /** The stack's configuration: the salt of the passphrase and the encrypted password of the database. */
  readonly stackFile: string;
  /** Operator's lock and what its holder says of itself. */
  readonly lock: string;
  /** Copies of the state, one before and one after every change. */
  readonly copies: string;
  /** What `recover` put aside: states, settings and passphrases of before. */
  readonly lost: string;
  /** Each node's image. */
  readonly release: string;
  /** What `up` deployed last and how it is reached. */
  readonly record: string;
  /** What each node had when it was last healthy, sealed. */
  readonly deployed: string;
  /** Journal of a rollout that is under way. */
  readonly rollout: string;
  /** What runs that failed were told, 0700. */
  readonly logs: string;
  /** Journal of an upgrade of PostgreSQL that is under way. */
  readonly databaseUpgrade: string;
  /** Journal of a node's new name that is under way. */
  readonly nodeRename: string;
  /** What a target that went away may have made without an answer. */
  readonly unanswered: string;
}

/** Of the local backend, for all stacks of the deployment directory. */
export function stateFolder(dir: string): string {
  return join(dir, "infra", "state");
}

/** `dir` is the deployment directory, absolute. */
export function infraFiles(dir: string, stack: string): InfraFiles {
  const project = join(dir, "infra");
  return {
    project,
    state: stateFolder(dir),
    passphrase: join(project, ".passphrase"),
    stackFile: join(project, `Pulumi.${stack}.yaml`),
    lock: join(project, ".lock"),
    copies: join(project, "state-copies"),
    lost: join(project, "lost"),
    release: join(project, "release.json"),
    record: join(project, "stack.json"),
    deployed: join(project, "deployed"),
    rollout: join(project, "rollout.json"),
    logs: join(project, "logs"),
    databaseUpgrade: join(project, "postgres-upgrade.json"),
    nodeRename: join(project, "node-rename.json"),
    unanswered: join(project, "unanswered.json"),
  };
}

/** `file://` and the state directory, unless the operator names another backend. */
export function backendUrl(files: InfraFiles, given: string | undefined): string {
  return given ?? `file://${files.state}`;
}
