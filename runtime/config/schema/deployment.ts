/** `deployment`: what `infra` and `update` make of the configuration (one section a target). */
import { BlockList, isIP } from "node:net";
import { parseListen } from "../listen.ts";
import { address } from "./mesh.ts";
import {
  bytes,
  choice,
  decimal,
  dnsLabel,
  duration,
  flag,
  identifier,
  integer,
  list,
  mapping,
  path,
  section,
  text,
} from "./scalars.ts";

export const DEPLOYMENT_TARGETS = ["docker", "proxmox", "kubernetes", "manual"] as const;

const HOST = "a host name or an IP address";
const DOCKER_HOST = "local, or ssh://user@host[:port]";
const NODE_HOST = "on docker local, or ssh://user@host[:port]; on manual a host name or an IP address";
const IMAGE = "an image reference, such as registry.example.org/team/cairn";
const PUBLISH = "address:port, such as 10.0.0.5:5432 or [fd00::5]:5432";
const DATA_DIR = "an absolute path of letters, digits, ., _ and -";
const CIDR = "an address with its prefix, such as 192.168.1.50/24";
const NETWORK = "a network, such as 10.96.0.0/12 or fd00:10:96::/112";
const MAC_OR_CIDR = "dhcp, or an address with its prefix, such as 192.168.1.40/24";

const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$|^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]+$/;
const DOCKER_ADDRESS =
  /^(?:local|ssh:\/\/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?)$/;
const PUBLIC_KEY = "a line of ssh-keyscan, such as `ssh-ed25519 AAAA...`";

const host = () => text(HOST).regex(HOST_NAME, { error: HOST });
const dockerHost = () => text(DOCKER_HOST).regex(DOCKER_ADDRESS, { error: DOCKER_HOST });
/** Which of the two it has to be is the target's: see checks/deployment.ts. */
const nodeHost = () =>
  text(NODE_HOST).refine((value) => isDockerAddress(value) || isHostName(value), { error: NODE_HOST });
const hostKey = () =>
  text(PUBLIC_KEY).regex(/^(?:[^\s]+ )?(?:ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}(?: [^\r\n]*)?$/, {
    error: PUBLIC_KEY,
  });
const imageName = () =>
  text(IMAGE).regex(/^[a-z0-9]+(?:[._:/-]+[a-z0-9]+)*(?:@sha256:[0-9a-f]{64})?$/i, { error: IMAGE });
const userName = () => text("a user name").regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: "a user name" });
const publishAddress = () => text(PUBLISH).refine((value) => isPublishable(value), { error: PUBLISH });
/** Stands in command lines of the Proxmox host: no `..`, nothing that a shell would read. */
const hostPath = () => text(DATA_DIR).regex(/^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/, { error: DATA_DIR });
const network = () => text(NETWORK).refine(isNetwork, { error: NETWORK });
const fixedAddress = () => text(CIDR).regex(/^[0-9A-Fa-f.:]+\/\d{1,3}$/, { error: CIDR });
const containerAddress = () => text(MAC_OR_CIDR).regex(/^(?:dhcp|[0-9A-Fa-f.:]+\/\d{1,3})$/, { error: MAC_OR_CIDR });
/** Names of storages, bridges and the like: they become part of command lines on the target. */
const word = (allowed: string) => text(allowed).regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, { error: allowed });

const resources = {
  memory: bytes()
    .optional()
    .describe("Memory limit of a node. When absent on docker: a share of half the machine's memory, at most 4Gi."),
  cpus: decimal({ min: 0.1 }).optional().describe("Processor limit of a node."),
};

const node = section({
  name: dnsLabel("a node's name").describe("Also the host name of its container."),
  host: nodeHost()
    .optional()
    .describe(
      "docker: where the node runs; deployment.docker.host when absent. manual: its machine, reached over SSH; this one when absent.",
    ),
  port: integer({ min: 1, max: 65_535 })
    .optional()
    .describe(
      "docker, proxmox: published port; runtime.listen's when absent, on docker the next one for each further node of a host. manual: of SSH on `host`; 22 when absent.",
    ),
  host_key: hostKey().optional().describe("manual: public key of `host`, which needs one; any other is refused."),
  user: userName().optional().describe("manual: who logs in on `host`; the user of the command when absent."),
  identity_file: path().optional().describe("manual: private key for SSH; the agent's keys when absent."),
  unit: word("a unit's name")
    .optional()
    .describe("manual: systemd unit that `cairn service install` has written there; cairn when absent."),
  ...resources,
  vmid: integer({ min: 100, max: 999_999_999 }).optional().describe("proxmox: the container's number."),
  pve_node: word("a Proxmox node's name")
    .optional()
    .describe("proxmox: member of the cluster that runs the container."),
  address: containerAddress().optional().describe("proxmox: the container's address; dhcp when absent."),
  labels: mapping(text(), text()).optional().describe("kubernetes: node selector."),
  advertise: address()
    .optional()
    .describe(
      "Its mesh.advertise; in a mesh, when absent, the address that the target gives it, as far as that is known.",
    ),
});

const proxmox = section({
  host: host().describe("The Proxmox host, reached over SSH."),
  port: integer({ min: 1, max: 65_535 }).prefault(22),
  user: userName().default("root"),
  host_key: hostKey().describe("The host's public key; any other is refused."),
  identity_file: path().optional().describe("Private key for SSH; the agent's keys when absent."),
  template: text("a template, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst")
    .regex(/^[A-Za-z0-9_.-]+:vztmpl\/[A-Za-z0-9_.+-]+$/, {
      error: "a template, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
    })
    .default("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"),
  storage: word("a storage's name").default("local-lvm").describe("For root disks and data volumes."),
  disk: bytes().prefault("16Gi").describe("Root disk of a container."),
  bridge: word("a bridge's name").default("vmbr0"),
  vlan: integer({ min: 1, max: 4094 }).optional(),
  gateway: host().optional().describe("For nodes with a fixed address."),
  nameserver: host().optional(),
  vmid_start: integer({ min: 100, max: 999_999_999 })
    .prefault(700)
    .describe("Number of the database's container; nodes without a vmid have the ones after it, in their order."),
  unprivileged: flag().prefault(true),
  data_dir: hostPath()
    .default("/var/lib/cairn")
    .describe("Directory of the Proxmox host for data: mounted into the containers, it outlives them."),
  database_directory: dnsLabel("a directory's name")
    .optional()
    .describe(
      "Directory with the data of the deployed PostgreSQL, in `<data_dir>/<name>`; `postgres` when absent. `infra postgres upgrade` writes it.",
    ),
  postgres_address: fixedAddress()
    .optional()
    .describe("Address of the database's container, which nodes are told: needed with datahub.postgres."),
});

const kubernetes = section({
  kubeconfig: path().optional().describe("KUBECONFIG or ~/.kube/config when absent."),
  context: text().optional().describe("The current context when absent."),
  namespace: dnsLabel("a namespace").default("cairn"),
  replicas: integer({ min: 1 }).prefault(1).describe("Of each agent group, where deployment.nodes is empty."),
  storage_class: dnsLabel("a storage class").optional().describe("The cluster's default when absent."),
  storage_size: bytes().prefault("10Gi").describe("Home volume of a node."),
  database_size: bytes().prefault("20Gi").describe("Volume of the database, with datahub.postgres."),
  database_directory: dnsLabel("a directory's name")
    .optional()
    .describe(
      "Directory with the data of the deployed PostgreSQL, in its volume; `pgdata` when absent. `infra postgres upgrade` writes it.",
    ),
  service_type: choice(["ClusterIP", "NodePort", "LoadBalancer"]).default("ClusterIP"),
  image_pull_secret: dnsLabel("a secret's name").optional(),
  requests: section({ memory: bytes().prefault("512Mi"), cpus: decimal({ min: 0.01 }).prefault(0.25) }).prefault({}),
  limits: section({ memory: bytes().prefault("1Gi"), cpus: decimal({ min: 0.01 }).prefault(2) }).prefault({}),
  annotations: mapping(text(), text()).prefault({}).describe("Of the service."),
  denied_networks: list(network())
    .default([])
    .describe(
      "Networks that nodes may not connect to, such as the cluster's services and its API. Addresses of the link and the metadata services of clouds are always among them.",
    ),
  user_namespaces: flag()
    .prefault(false)
    .describe(
      "Run pods in user namespaces (hostUsers: false): Kubernetes 1.33 or newer, with runtime and volumes that can.",
    ),
});

export const deploymentSection = section({
  name: dnsLabel("a stack's name").default("cairn").describe("Name of the stack and prefix of what it creates."),
  target: choice(DEPLOYMENT_TARGETS).default("manual"),
  nodes: list(node).default([]).describe("The fleet's nodes; this machine alone when empty."),
  stop_timeout: duration({ min: 1_000 })
    .optional()
    .describe("When the supervisor kills a node that does not stop; drain_deadline plus 30s when absent."),
  datahub: section({
    postgres: flag().prefault(false).describe("Deploy PostgreSQL with pgvector beside the nodes."),
    image: imageName()
      .default("pgvector/pgvector:0.8.1-pg17")
      .describe("Image of that PostgreSQL; its major version is pinned."),
    publish: publishAddress()
      .optional()
      .describe(
        "Where that PostgreSQL listens for nodes on other docker hosts; the deployment's network alone when absent.",
      ),
    memory: bytes()
      .optional()
      .describe(
        "Memory limit of that PostgreSQL, which tunes itself to it. When absent: docker: a quarter of the machine's; proxmox: 2Gi; kubernetes: deployment.kubernetes.limits.",
      ),
    cpus: decimal({ min: 0.1 }).optional().describe("Processor limit of that PostgreSQL."),
    shared_storage: flag().prefault(false).describe("A volume that all nodes share."),
  }).prefault({}),
  image: section({
    build_from_source: flag().prefault(true).describe("Build the image from the source tree, plugins included."),
    registry: imageName().optional().describe("Repository that images are pulled from and pushed to."),
    tag: text("an image tag")
      .regex(/^[\w][\w.-]{0,127}$/, { error: "an image tag" })
      .optional()
      .describe("The running version when absent."),
    username: identifier().optional(),
    password: text().optional().describe("Of the registry, as a reference."),
  }).prefault({}),
  docker: section({
    host: dockerHost().default("local").describe("Where nodes run that name no host."),
    network: word("a network's name").default("cairn"),
    database_volume: word("a volume's name")
      .optional()
      .describe(
        "Volume with the data of the deployed PostgreSQL; `<name>-postgres-data` when absent. `infra postgres upgrade` writes it.",
      ),
    ...resources,
    pids: integer({ min: 16 }).prefault(512).describe("Process limit of a node."),
    log_max_size: bytes().prefault("10Mi"),
    log_max_files: integer({ min: 1 }).prefault(5),
  }).prefault({}),
  proxmox: proxmox.optional(),
  kubernetes: kubernetes.prefault({}),
});

export function isDockerAddress(value: string): boolean {
  return DOCKER_ADDRESS.test(value);
}

/** Or an IP address. */
export function isHostName(value: string): boolean {
  return HOST_NAME.test(value);
}

/** Not all of the addresses there are: a node that may connect to nothing reaches no model. */
function isNetwork(value: string): boolean {
  const [, address = "", digits = ""] = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/.exec(value) ?? [];
  const family = isIP(address);
  if (family === 6 && isMapped(address)) return false;
  return family !== 0 && Number(digits) >= 1 && Number(digits) <= (family === 4 ? 32 : 128);
}

/** An IPv4 address written as one of IPv6: no packet carries it, so a rule with it would let the IPv4 packets through. */
function isMapped(address: string): boolean {
  const mapped = new BlockList();
  mapped.addSubnet("::ffff:0:0", 96, "ipv6");
  return mapped.check(address, "ipv6");
}

function isPublishable(value: string): boolean {
  const address = parseListen(value);
  return address !== null && address.port > 0 && isIP(address.host) !== 0;
}
