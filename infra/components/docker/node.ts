/** One node of a stack: its volumes, its files, and its container. */

import { Container } from "@pulumi/docker";
import { ComponentResource, type Output, type Resource, secret } from "@pulumi/pulumi";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { stackNames } from "../../plan/names.ts";
import { renderNodeEnv } from "../../plan/node-env.ts";
import { CONTAINER, type DockerNodePlan, type DockerPlan, POSTGRES } from "../../plan/types.ts";
import type { DatabaseAccess } from "../../postgres/configuration.ts";
import {
  environmentArgs,
  hardeningArgs,
  lifetimeArgs,
  limitArgs,
  limitLabels,
  logArgs,
  NEVER_UPDATED,
} from "./container.ts";
import { filesFor } from "./files.ts";
import type { DockerHost } from "./host.ts";
import { ownLabels, serviceLabels } from "./labels.ts";
import { limitPids } from "./pids.ts";
import { dataVolume } from "./volume.ts";

const PROBE = ["node", "/opt/cairn/dist/runtime/health-probe.js"];

export interface NodeInput {
  readonly plan: DockerPlan;
  readonly node: DockerNodePlan;
  readonly host: DockerHost;
  /** Values of the variables that the node's `.env` gets. */
  readonly variables: Readonly<Record<string, string>>;
  /** The stack's own PostgreSQL; null where the node does not use it. */
  readonly database: Output<DatabaseAccess> | null;
  readonly sharedVolume: Output<string> | null;
  readonly adopt: ReadonlySet<string>;
  readonly dependsOn: readonly Resource[];
  readonly parent: Resource | undefined;
}

/** URN type `cairn:docker:Node`; everything of one node hangs below it. INFRA_IMAGE_MISSING when it has no image yet. */
export class DockerNode extends ComponentResource {
  readonly container: Container;
  /** The volumes' own names. */
  readonly volumes: readonly string[];
  /** As passed to Docker. */
  readonly image: string;

  constructor(input: NodeInput) {
    const { plan, node, host, adopt } = input;
    const names = stackNames(plan.stack);
    const name = names.node(node.name);
    super("cairn:docker:Node", name, {}, input.parent ? { parent: input.parent } : {});
    this.image = imageOf(node);
    const data = (volume: string) =>
      dataVolume({ plan, host, name: volume, role: "node", node: node.name, adopt, parent: this });
    this.volumes = [names.home(node.name), names.workspace(node.name)];
    const home = data(names.home(node.name));
    const workspace = data(names.workspace(node.name));
    const files = filesFor({
      plan,
      host,
      container: name,
      role: "node",
      node: node.name,
      image: this.image,
      directory: CONTAINER.configuration,
      files: [
        ...node.files,
        { path: `${CONTAINER.configuration}/.env`, content: environmentFile(input) },
        ...(input.database === null
          ? []
          : [{ path: POSTGRES.certificate, content: input.database.apply(({ certificate }) => certificate) }]),
      ],
      parent: this,
    });
    this.container = new Container(
      name,
      {
        name,
        image: this.image,
        hostname: node.name,
        user: `${CONTAINER.uid}:${CONTAINER.gid}`,
        // The image starts an init of its own.
        init: false,
        ...environmentArgs(node.environment),
        labels: [...ownLabels(plan, "node", node.name), ...serviceLabels(plan, node.name), ...limitLabels(node.limits)],
        ...hardeningArgs(),
        ...logArgs(plan),
        ...limitArgs(node.limits),
        ...lifetimeArgs(node.stopTimeoutS),
        networksAdvanced: [{ name: host.network.name, aliases: [node.name] }],
        ports: node.publish
          ? [{ internal: CONTAINER.port, external: node.publish.port, ip: node.publish.address }]
          : [],
        volumes: [
          { volumeName: home.name, containerPath: CONTAINER.home },
          { volumeName: workspace.name, containerPath: CONTAINER.workspaces },
          ...(input.sharedVolume ? [{ volumeName: input.sharedVolume, containerPath: CONTAINER.shared }] : []),
          { fromContainer: files.from },
        ],
        tmpfs: {
          // Programs may be run from here: tools of agents unpack and build, and the workspace lets them anyway.
          "/tmp": "rw,nosuid,nodev,exec,mode=1777,size=536870912",
          "/run": "rw,nosuid,nodev,noexec,mode=0755,size=16777216",
        },
        healthcheck: {
          tests: ["CMD", ...PROBE],
          interval: "15s",
          timeout: "10s",
          retries: 3,
          startPeriod: "5m0s",
          startInterval: "2s",
        },
      },
      {
        provider: host.provider,
        parent: this,
        deleteBeforeReplace: true,
        replaceOnChanges: [...NEVER_UPDATED],
        dependsOn: [...input.dependsOn],
      },
    );
    limitPids(name, host, this.container, plan.pids, this);
    this.registerOutputs({});
  }
}

/** The digest of a registry is the same everywhere; the id is what an engine has that got the image without one. */
function imageOf(node: DockerNodePlan): string {
  const image = node.image?.digest ?? node.image?.id;
  if (image) return image;
  throw new InfraError("INFRA_IMAGE_MISSING", `Node ${node.name} has no image yet.`, {
    hint: "Run `cairn build`, or name an image with `--image`.",
  });
}

/** Secret as a whole, and never empty. */
function environmentFile({ node, variables, database }: NodeInput): Output<string> {
  if (database === null) return secret(renderNodeEnv(node, variables, null));
  return secret(database.apply(({ url }) => renderNodeEnv(node, variables, url)));
}
