/**
 * The deployment plan: everything that a target is to create, as plain data without a secret in it. `planDeployment` makes
 * it from the configuration alone, so that it can be compared, printed and kept in golden files. Secrets are named here;
 * their values are passed apart from the plan (`SecretValues`) and meet it in the Pulumi program.
 */

/** Paths inside a node's container, the same on every target. */
export const CONTAINER = {
  /** The deployment directory as the node sees it: cairn.yaml and .env, owned by root, read-only to the node. */
  configuration: "/etc/cairn",
  /** Workspace files as the operator has them; the node copies what it has not changed itself. */
  seed: "/etc/cairn/seed",
  /** SERVICE_HOME: node key, mesh.json, spool, payloads, embedded store. A data volume. */
  home: "/var/lib/cairn",
  /** `workspace/` and `agents/<name>/`. A data volume. */
  workspaces: "/srv/cairn",
  /** datahub.shared_storage. A data volume. */
  shared: "/srv/shared",
  /** What plugin_dirs and skill_dirs become in the image: one folder each, numbered by their place in the list. */
  plugins: "/opt/cairn/plugins",
  skills: "/opt/cairn/skills",
  port: 7433,
  /** The image's user; group 0 may read what root mounts for it. */
  uid: 1000,
  gid: 0,
} as const;

export const POSTGRES = {
  port: 5432,
  role: "cairn",
  database: "cairn",
  data: "/var/lib/postgresql/data",
  /** User and group of the official image (Debian). */
  uid: 999,
  gid: 999,
  /** Where its password and start script are mounted. */
  configuration: "/etc/cairn-postgres",
  /** The variable that nodes find the connection string in. */
  variable: "SERVICE_PG_URL",
  /** In a node's container: the certificate of the authority that signs the server's. */
  certificate: "/etc/cairn/postgres.pem",
} as const;

/** Identity of an image. `digest` exists once a registry has it. */
export interface ImageIdentity {
  /** Image id of the engine that built it: `sha256:<64 hex>`. */
  readonly id: string | null;
  /** `repository@sha256:<64 hex>`. */
  readonly digest: string | null;
  /** `repository:tag`, for targets that identify images only by name. */
  readonly reference: string;
  /** Version of the program inside. */
  readonly version: string;
  /** Source revision, where it is known. */
  readonly revision: string | null;
}

/** `infra/release.json`: the image of each node, and the newest one that was built. Written by `build`, `up` and `update`. */
export interface Release {
  readonly schema: 1;
  readonly built: ImageIdentity | null;
  readonly nodes: Readonly<Record<string, ImageIdentity>>;
  /** Memory of each docker host in bytes, as the stack's first run saw it; absent in stacks of before. */
  readonly machines?: Readonly<Record<string, number>> | undefined;
}

/** A file that a container gets before it starts, root's, readable by the node's group alone. */
export interface PlannedFile {
  /** Absolute path inside the container. */
  readonly path: string;
  readonly content: string;
}

/** Limits of one container; absent means the engine's own default. */
export interface ResourceLimits {
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
}

export interface NodePlan {
  /** DNS label; also the container's host name. */
  readonly name: string;
  /** Agents that run on this node. */
  readonly agents: readonly string[];
  /** Null until an image was built or pulled: `up` then says to build. */
  readonly image: ImageIdentity | null;
  /** cairn.yaml for this node, and the workspace seed. Never a secret: references stay as `${NAME}`. */
  readonly files: readonly PlannedFile[];
  /** Names of the variables of its `.env`, sorted. Their values are in SecretValues.variables. */
  readonly secretVariables: readonly string[];
  /** Not secret. */
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ResourceLimits;
  /** Seconds between the request to stop and the kill; above the drain deadline. */
  readonly stopTimeoutS: number;
  /** Address and port on the node's host; null where nothing is published. Loopback unless the node serves TLS. */
  readonly publish: { readonly address: string; readonly port: number } | null;
  readonly tls: boolean;
}

export interface PostgresPlan {
  /** Image reference with its major version pinned. */
  readonly image: string;
  readonly limits: ResourceLimits;
  /** Null: reachable within the deployment's network alone. */
  readonly publish: { readonly address: string; readonly port: number } | null;
  /** Name of its data; that of infra/plan/names.ts when absent. */
  readonly data?: string;
}

export interface CommonPlan {
  readonly schema: 1;
  /** Name of the stack, prefix of everything that is created. */
  readonly stack: string;
  /** Version of the program that planned. */
  readonly version: string;
  readonly nodes: readonly NodePlan[];
  readonly postgres: PostgresPlan | null;
  readonly sharedStorage: boolean;
}

export interface DockerNodePlan extends NodePlan {
  /** `local`, or `ssh://user@host[:port]`. */
  readonly host: string;
}

export interface DockerPlan extends CommonPlan {
  readonly target: "docker";
  readonly nodes: readonly DockerNodePlan[];
  /** Host of PostgreSQL, and of nodes that name none. */
  readonly host: string;
  readonly network: string;
  readonly pids: number;
  readonly logMaxBytes: number;
  readonly logMaxFiles: number;
}

export interface ProxmoxNodePlan extends NodePlan {
  readonly vmid: number;
  /** Member of the cluster that runs the container; null: the host itself. */
  readonly pveNode: string | null;
  /** `dhcp`, or an address with its prefix. */
  readonly address: string;
}

export interface ProxmoxPlan extends CommonPlan {
  readonly target: "proxmox";
  readonly nodes: readonly ProxmoxNodePlan[];
  readonly ssh: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    /** `ssh-ed25519 AAAA...`, without a host name. */
    readonly hostKey: string;
    /** Path on this machine; null: the agent's keys. */
    readonly identityFile: string | null;
  };
  readonly template: string;
  readonly storage: string;
  readonly diskBytes: number;
  readonly bridge: string;
  readonly vlan: number | null;
  readonly gateway: string | null;
  readonly nameserver: string | null;
  readonly unprivileged: boolean;
  /** Directory on the Proxmox host that holds the data, mounted into the containers: it outlives them. */
  readonly dataDir: string;
  /** Its own container; null without datahub.postgres. */
  readonly postgresVmid: number | null;
  readonly postgresAddress: string | null;
}

export interface KubernetesNodePlan extends NodePlan {
  /** Pods of the group: its StatefulSet's replicas. */
  readonly replicas: number;
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Variable that has the pod's own name; absent where the configuration does not need it. */
  readonly podName?: string;
}

export interface KubernetesPlan extends CommonPlan {
  readonly target: "kubernetes";
  /** One a StatefulSet: an agent group. */
  readonly nodes: readonly KubernetesNodePlan[];
  readonly kubeconfig: string | null;
  readonly context: string | null;
  readonly namespace: string;
  readonly storageClass: string | null;
  readonly storageBytes: number;
  readonly databaseBytes: number;
  readonly serviceType: "ClusterIP" | "NodePort" | "LoadBalancer";
  readonly serviceAnnotations: Readonly<Record<string, string>>;
  readonly imagePullSecret: string | null;
  readonly requests: { readonly memoryBytes: number; readonly cpus: number };
  readonly podLimits: { readonly memoryBytes: number; readonly cpus: number };
  /** Networks that nodes may not connect to, beside those that they never may. */
  readonly deniedNetworks: readonly string[];
  /** Root of a pod has no rights on its machine. */
  readonly userNamespaces: boolean;
}

export type DeploymentPlan = DockerPlan | ProxmoxPlan | KubernetesPlan;

/** What must not be in a plan. */
export interface SecretValues {
  /** Values of the variables that nodes get in `.env`, references to a password manager resolved. */
  readonly variables: Readonly<Record<string, string>>;
  /** Credentials of the image registry; null where it needs none. */
  readonly registry: { readonly server: string; readonly username: string; readonly password: string } | null;
}

/** Made once a stack and kept in its encrypted configuration. */
export interface PostgresSecrets {
  readonly password: string;
  /** Private key and certificate of the server, then the certificate that nodes pin; PEM, in this order. */
  readonly tls: string;
}

/** Outputs of a stack after `up`; none of it is secret. */
export interface StackOutputs {
  readonly nodes: readonly {
    readonly name: string;
    /** Container, CT or StatefulSet: as the target's own tools name it. */
    readonly workload: string;
    /** Where it runs: `local`, an `ssh://` address, a Proxmox host, a namespace. */
    readonly place: string;
    readonly image: string;
  }[];
  /** What `destroy` leaves behind. */
  readonly data: readonly { readonly name: string; readonly place: string }[];
}
