/** One setup for each target: as a person answers it, and as flags do. */
import { down, ENTER, HOST_FINGERPRINT, HOST_KEY, type Script, up } from "./setup-session.ts";

export interface TargetSetup {
  readonly deployment: Script;
  readonly agents: Script;
  readonly channels: Script;
  /** What is asked once it is written: nothing where a key is still to be given. */
  readonly finish: Script;
  readonly flags: readonly string[];
}

const ONE_AGENT: Script = [
  ["Names of the agents", ENTER],
  ["Language model provider", ENTER],
];
/** No channel is chosen. */
export const NO_CHANNELS: Script = [["Where else shall people reach the agents?", ENTER]];

export const TARGETS: Readonly<Record<"manual" | "docker" | "proxmox" | "kubernetes", TargetSetup>> = {
  manual: {
    deployment: [
      ["Where shall the service run?", ENTER],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the HTTP server", `127.0.0.1:8080${ENTER}`],
      ["Time zone", `Europe/Berlin${ENTER}`],
    ],
    agents: ONE_AGENT,
    channels: NO_CHANNELS,
    finish: [["Start it now?", `n${ENTER}`]],
    flags: ["--target", "manual", "--listen", "127.0.0.1:8080", "--timezone", "Europe/Berlin"],
  },
  docker: {
    deployment: [
      ["Where shall the service run?", down(1)],
      ["Name of the deployment", `fleet${ENTER}`],
      ["Docker host (", ENTER],
      ["Docker network", `cairn-net${ENTER}`],
      ["Names of the nodes", `nova-1, nova-2${ENTER}`],
      ["Docker host of nova-1", ENTER],
      ["Docker host of nova-2", `ssh://cairn@two.example.org${ENTER}`],
      ["Where shall the memory be stored?", ENTER],
      ["Address and port of the database", `10.0.0.5:5432${ENTER}`],
      ["Time zone", `UTC${ENTER}`],
    ],
    agents: [
      ["Names of the agents", `nova, iris${ENTER}`],
      ["Language model provider", up(30)],
      ["Model of anthropic", ENTER],
      ["Variable that holds the key of anthropic", ENTER],
      ["How long shall nova think?", ENTER],
      ["Provider of iris", ENTER],
      ["How long shall iris think?", `\u001b[B${ENTER}`],
    ],
    channels: [...NO_CHANNELS, ["Key of anthropic for ANTHROPIC_API_KEY", ENTER]],
    finish: [],
    flags: [
      ...["--target", "docker", "--stack", "fleet", "--docker-network", "cairn-net"],
      ...["--node", "nova-1", "--node", "nova-2", "--node-host", "nova-2=ssh://cairn@two.example.org"],
      ...["--publish", "10.0.0.5:5432", "--timezone", "UTC"],
      ...["--agent", "nova", "--agent", "iris", "--provider", "anthropic", "--thinking", "iris=low"],
    ],
  },
  proxmox: {
    deployment: [
      ["Where shall the service run?", down(2)],
      ["Name of the deployment", ENTER],
      ["Proxmox host", `pve.example.org${ENTER}`],
      ["Its SSH port", ENTER],
      [`Is ${HOST_FINGERPRINT} the key of pve.example.org?`, `y${ENTER}`],
      ["SSH user", ENTER],
      ["Private key file", ENTER],
      ["Container template", ENTER],
      ["Storage", ENTER],
      ["Network bridge", `vmbr1${ENTER}`],
      ["Names of the nodes", `one, two${ENTER}`],
      ["Address of one", ENTER],
      ["Address of two", `192.168.1.42/24${ENTER}`],
      ["Where shall the memory be stored?", ENTER],
      ["Address of the database", `192.168.1.50/24${ENTER}`],
      ["Gateway of the fixed addresses", `192.168.1.1${ENTER}`],
      ["A volume that all nodes share, ", `y${ENTER}`],
      ["Time zone", `UTC${ENTER}`],
    ],
    agents: ONE_AGENT,
    channels: NO_CHANNELS,
    finish: [["Deploy now?", ENTER]],
    flags: [
      ...["--target", "proxmox", "--proxmox-host", "pve.example.org", "--proxmox-host-key", HOST_KEY],
      ...["--proxmox-bridge", "vmbr1", "--node", "one", "--node", "two", "--node-address", "two=192.168.1.42/24"],
      ...["--postgres-address", "192.168.1.50/24", "--proxmox-gateway", "192.168.1.1", "--shared-storage"],
      ...["--timezone", "UTC"],
    ],
  },
  kubernetes: {
    deployment: [
      ["Where shall the service run?", down(3)],
      ["Name of the deployment", ENTER],
      ["Context of the cluster", `\u001b[B${ENTER}`],
      ["Namespace", `agents${ENTER}`],
      ["Storage class", `fast${ENTER}`],
      ["Pods of each agent group", `2${ENTER}`],
      ["Where shall the memory be stored?", ENTER],
      ["A volume that all nodes share, ", ENTER],
      ["Time zone", `UTC${ENTER}`],
    ],
    agents: ONE_AGENT,
    channels: NO_CHANNELS,
    finish: [["Deploy now?", ENTER]],
    flags: [
      ...["--target", "kubernetes", "--kube-context", "test", "--kube-namespace", "agents"],
      ...["--kube-storage-class", "fast", "--kube-replicas", "2", "--timezone", "UTC"],
    ],
  },
};

export const WRITE: Script = [["Write this?", ENTER]];
