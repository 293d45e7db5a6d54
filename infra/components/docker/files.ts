/**
 * Files for a container whose root file system is read-only. Docker copies files into such a container neither before nor
 * after its start, so they are copied into a second container, which never runs and lends the first its anonymous volume.
 * The volume is made and removed with that container: changed files are always a fresh volume, and old ones do not stay.
 */

import { Container } from "@pulumi/docker";
import type { Input, Output, Resource } from "@pulumi/pulumi";
import { interpolate } from "@pulumi/pulumi";
import type { DockerPlan } from "../../plan/types.ts";
import type { DockerHost } from "./host.ts";
import { ownLabels, type Role } from "./labels.ts";
import { filesContainer } from "./names.ts";

export interface FilesInput {
  readonly plan: DockerPlan;
  readonly host: DockerHost;
  /** Name of the container that uses the files. */
  readonly container: string;
  readonly role: Role;
  readonly node?: string;
  readonly image: Input<string>;
  /** Where the volume appears in both containers. */
  readonly directory: string;
  /** Absolute paths below `directory`. Root's, and read by root's group. */
  readonly files: readonly { readonly path: string; readonly content: Input<string> }[];
  readonly parent: Resource;
}

/** Octal. */
const FILE_MODE = "0440";

export interface LentFiles {
  readonly container: Container;
  /** For `volumes[].fromContainer`: read-only there. */
  readonly from: Output<string>;
}

export function filesFor(input: FilesInput): LentFiles {
  const { plan, host, role, node, parent } = input;
  const name = filesContainer(input.container);
  const container = new Container(
    name,
    {
      name,
      image: input.image,
      start: false,
      mustRun: false,
      restart: "no",
      networkMode: "none",
      readOnly: false,
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      labels: ownLabels(plan, role, node),
      volumes: [{ containerPath: input.directory }],
      uploads: input.files.map((file) => ({ file: file.path, ...contentOf(file.content), permissions: FILE_MODE })),
      removeVolumes: true,
    },
    { provider: host.provider, parent, deleteBeforeReplace: true },
  );
  return { container, from: interpolate`${container.id}:ro` };
}

/** The provider takes an empty content for none at all. */
function contentOf(content: Input<string>): { content: Input<string> } | { source: string } {
  return content === "" ? { source: "/dev/null" } : { content };
}
