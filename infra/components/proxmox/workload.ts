/** One CT with what runs in it: directories on the host, CT, Docker, image, container, each waiting for the one before. */

import { ComponentResource, type Input, type Resource } from "@pulumi/pulumi";
import { type ContainerSpec, deleteContainer, ensureContainer } from "./container-scripts.ts";
import { type CtSpec, type DataDirectory, isShared } from "./ct.ts";
import { deleteCt, ensureCt } from "./ct-scripts.ts";
import { ensureDirectory } from "./data-scripts.ts";
import { type CtImage, ensureDocker, ensureImage } from "./docker-scripts.ts";
import type { RemoteHost } from "./remote.ts";

export interface WorkloadInput {
  /** `<stack>-<node>`, or `<stack>-postgres`. */
  readonly name: string;
  readonly host: RemoteHost;
  /** The plan's data directory, in which the stack's own lies. */
  readonly root: string;
  readonly ct: CtSpec;
  readonly image: CtImage;
  readonly container: ContainerSpec;
  /** `filesInput`: secret as a whole. */
  readonly files: Input<string>;
  /** `registryInput`: secret; null where nothing is pulled. */
  readonly registry: Input<string> | null;
  /** Directories that are declared elsewhere, for all nodes. */
  readonly shared: readonly Resource[];
  readonly dependsOn: readonly Resource[];
  readonly parent: Resource | undefined;
}

/**
 * URN type `cairn:proxmox:Workload`. `<name>-container` is what serves: only its change, and a replacement of `<name>-ct`,
 * stop what runs.
 */
export class Workload extends ComponentResource {
  readonly container: Resource;

  constructor(input: WorkloadInput) {
    const { name, host, ct, image } = input;
    super("cairn:proxmox:Workload", name, {}, input.parent ? { parent: input.parent } : {});
    const { member } = ct;
    const replaceOn = rootOf(ct);
    const own = ct.directories.filter((directory) => !isShared(directory));
    const directories = own.map((directory) => dataDirectory(host, input.root, ct, directory, this));
    const made = host(
      `${name}-ct`,
      { ensure: ensureCt(ct), remove: deleteCt(ct), member, replaceOn },
      { parent: this, dependsOn: [...directories, ...input.shared, ...input.dependsOn] },
    );
    const docker = host(
      `${name}-docker`,
      { ensure: ensureDocker(ct), remove: null, member, replaceOn },
      { parent: this, dependsOn: [made] },
    );
    const loaded = host(
      `${name}-image`,
      {
        ensure: ensureImage(ct, image),
        remove: null,
        member,
        replaceOn,
        ...(input.registry === null ? {} : { stdin: input.registry }),
      },
      { parent: this, dependsOn: [docker] },
    );
    this.container = host(
      `${name}-container`,
      {
        ensure: ensureContainer(ct, input.container),
        remove: deleteContainer(ct, input.container),
        member,
        replaceOn,
        stdin: input.files,
      },
      { parent: this, dependsOn: [loaded] },
    );
    this.registerOutputs({});
  }
}

/** A directory that is protected, and left where it is when it is taken out of the stack: its removal runs nothing. */
export function dataDirectory(
  host: RemoteHost,
  root: string,
  ct: CtSpec,
  directory: DataDirectory,
  parent: Resource | undefined,
): Resource {
  return host(
    directory.name,
    { ensure: ensureDirectory(root, ct.stack, directory), remove: null, member: ct.member },
    { protect: true, retainOnDelete: true, ...(parent ? { parent } : {}) },
  );
}

/** What cannot be changed in a CT that exists, and with it all that it holds. A new template is for new CTs. */
function rootOf(ct: CtSpec): string[] {
  return [String(ct.vmid), ct.member ?? "", ct.storage, ct.unprivileged ? "unprivileged" : "privileged"];
}
