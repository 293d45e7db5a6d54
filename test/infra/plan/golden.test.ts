/** Plans as they are, in files under test/fixtures/infra. `npx vitest run --project pure test/infra/plan/golden.test.ts -u` writes them anew. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { AGENTS, imageOf, type ProjectFiles, planOf } from "../../support/infra/project.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url);
const CERTIFICATE = await readFile(new URL("tls/localhost-cert.pem", FIXTURES), "utf8");
const KEY = await readFile(new URL("tls/localhost-key.pem", FIXTURES), "utf8");
const PROXMOX = `proxmox: { host: pve.example.org, host_key: "pve.example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", identity_file: /home/operator/.ssh/pve`;

const RELEASE = {
  "infra/release.json": JSON.stringify({ schema: 1, built: imageOf("b"), nodes: { one: imageOf("a") } }),
};
const WORKSPACE = {
  "workspace/AGENTS.md": "# Agents\n",
  "workspace/notes/day.md": "Dear diary.\n",
  "own/SOUL.md": "A soul of its own.\n",
};

/** Everything that is not the target's, in one configuration. */
const FULL = `version: 1
runtime: { workspace: workspace, timezone: Europe/Berlin, drain_deadline: 90s, listen: "127.0.0.1:8000" }
agents:
  main: {}
  writer: { provider: anthropic, workspace: own, node: two }
providers:
  offline: {}
  anthropic: { model: claude }
  openai: { model: gpt-5.5, api_key: op://vault/openai/key }
channels:
  telegram: { token: "\${TELEGRAM_TOKEN}", owner_id: 1 }
mcp:
  servers:
    notes: { command: notes, cwd: workspace/notes, env: { NOTES_TOKEN: written-in-plain-text } }
mesh: { name: operator }
plugin_dirs: [plugins/a, plugins/b]
skill_dirs: [skills]
`.replace("agents:\n  main: {}", "agents:\n  main: { provider: offline }");
const FULL_FILES: ProjectFiles = {
  files: { ...WORKSPACE, ...RELEASE },
  variables:
    "ANTHROPIC_API_KEY=anthropic-key-value\nTELEGRAM_TOKEN=telegram-token-value\nREGISTRY_PASSWORD=registry-password\n",
  readSecret: async () => "openai-key-of-the-vault",
};

const CASES: [name: string, yaml: string, options?: ProjectFiles][] = [
  ["docker-one-node", `${AGENTS}deployment: { target: docker }\n`],
  [
    "docker-postgres",
    `${AGENTS}deployment: { target: docker, name: fleet, datahub: { postgres: true } }\nmemory: { postgres: {} }\n`,
  ],
  [
    "docker-own-postgres",
    `${AGENTS}deployment: { target: docker }\nmemory: { postgres: { pool: 4 } }\n`,
    { variables: "SERVICE_PG_URL=postgres://cairn:secret-word@db.example.org/cairn\n" },
  ],
  ["docker-embedded-path", `${AGENTS}deployment: { target: docker }\nmemory: { embedded: { path: ~/store } }\n`],
  [
    "docker-shared-storage",
    `${AGENTS}deployment: { target: docker, nodes: [{ name: one }, { name: two }], datahub: { postgres: true, shared_storage: true } }\n`,
  ],
  [
    "docker-hosts",
    `${AGENTS}deployment:
  target: docker
  docker: { host: "ssh://deploy@one.example.org", memory: 1Gi, cpus: 2, pids: 128, log_max_size: 1Mi, log_max_files: 2, network: fleet-net }
  datahub: { postgres: true, publish: "10.0.0.5:5432", image: "registry.example.org/pgvector:0.8.1-pg17" }
  nodes:
    - { name: one }
    - { name: two, memory: 512Mi }
    - { name: three, host: "ssh://deploy@two.example.org:2222", port: 9000, cpus: 0.5 }
`,
    { files: RELEASE },
  ],
  [
    "docker-tls",
    `${AGENTS}runtime: { tls: { cert: tls/cert.pem, key: tls/key.pem } }\ndeployment: { target: docker, datahub: { postgres: true } }\n`,
    { files: { "tls/cert.pem": CERTIFICATE, "tls/key.pem": KEY } },
  ],
  [
    "docker-tls-auto",
    `${AGENTS}runtime: { tls: auto }\ndeployment: { target: docker, nodes: [{ name: one }, { name: two }] }\nmemory: { postgres: {} }\n`,
    { variables: "SERVICE_PG_URL=postgres://cairn:secret-word@db.example.org/cairn\n" },
  ],
  [
    "docker-mesh",
    `${AGENTS}mesh: { enabled: true }\ndeployment: { target: docker, name: fleet, datahub: { postgres: true }, nodes: [{ name: one }, { name: two }, { name: three, advertise: "three.example.org:443" }] }\n`,
  ],
  [
    "docker-mesh-hosts",
    `${AGENTS}mesh: { enabled: true }\ndeployment:
  target: docker
  docker: { host: "ssh://deploy@one.example.org" }
  datahub: { postgres: true, publish: "10.0.0.5:5432" }
  nodes:
    - { name: one }
    - { name: two }
    - { name: three, host: "ssh://deploy@two.example.org:2222", port: 9000 }
`,
  ],
  [
    "docker-full",
    `${FULL}deployment: { target: docker, nodes: [{ name: one }, { name: two }], datahub: { postgres: true }, image: { registry: registry.example.org/team/cairn, username: deployer, password: "\${REGISTRY_PASSWORD}" } }\n`,
    FULL_FILES,
  ],
  ["proxmox-one-node", `${AGENTS}deployment: { target: proxmox, ${PROXMOX} } }\n`],
  [
    "proxmox-nodes",
    `${FULL}deployment:
  target: proxmox
  name: fleet
  datahub: { postgres: true, shared_storage: true }
  ${PROXMOX}, port: 2222, user: deploy, storage: fast, disk: 8Gi, bridge: vmbr1, vlan: 12, gateway: 10.0.0.1, nameserver: 10.0.0.2, vmid_start: 900, data_dir: /tank/cairn, postgres_address: 10.0.0.20/24 }
  nodes:
    - { name: one, address: 10.0.0.21/24, memory: 1Gi, cpus: 2 }
    - { name: two, vmid: 950, pve_node: pve-2, port: 9000 }
    - { name: three }
`,
    FULL_FILES,
  ],
  [
    "proxmox-mesh",
    `${AGENTS}mesh: { enabled: true }\ndeployment: { target: proxmox, ${PROXMOX}, gateway: 10.0.0.1 }, nodes: [{ name: one, address: 10.0.0.21/24 }, { name: two, address: "fd00::22/64", port: 9000 }] }\nmemory: { postgres: {} }\n`,
    { variables: "SERVICE_PG_URL=postgres://cairn:secret-word@db.example.org/cairn\n" },
  ],
  [
    "kubernetes-mesh",
    `${AGENTS}mesh: { enabled: true }\ndeployment: { target: kubernetes, name: fleet, kubernetes: { namespace: agents }, datahub: { postgres: true }, nodes: [{ name: one }, { name: two }] }\n`,
  ],
  [
    "kubernetes-mesh-replicas",
    `${AGENTS}mesh: { enabled: true }\nruntime: { tls: { cert: tls/cert.pem, key: "\${KEY}" } }\ndeployment: { target: kubernetes, kubernetes: { replicas: 3 }, datahub: { postgres: true } }\n`,
    { files: { "tls/cert.pem": CERTIFICATE }, env: { KEY } },
  ],
  [
    "kubernetes-replicas",
    `${AGENTS}deployment: { target: kubernetes, kubernetes: { replicas: 3, requests: { memory: 128Mi } }, datahub: { postgres: true } }\n`,
  ],
  [
    "kubernetes-nodes",
    `${FULL}deployment:
  target: kubernetes
  name: fleet
  datahub: { postgres: true, shared_storage: true }
  kubernetes:
    kubeconfig: /home/operator/.kube/fleet
    context: fleet
    namespace: agents
    storage_class: fast
    storage_size: 5Gi
    database_size: 50Gi
    service_type: LoadBalancer
    image_pull_secret: registry
    requests: { memory: 256Mi, cpus: 0.1 }
    limits: { memory: 2Gi, cpus: 4 }
    annotations: { "metallb.universe.tf/address-pool": lan }
  nodes:
    - { name: one, labels: { disk: ssd }, memory: 3Gi }
    - { name: two }
`,
    FULL_FILES,
  ],
  [
    "kubernetes-tls",
    `${AGENTS}runtime: { tls: { cert: tls/cert.pem, key: "\${KEY}" } }\ndeployment: { target: kubernetes, stop_timeout: 3m }\nmesh: { name: solo }\n`,
    { files: { "tls/cert.pem": CERTIFICATE }, env: { KEY } },
  ],
];

describe("plans", () => {
  test.each(CASES)("%s", async (name, yaml, options) => {
    const plan = await planOf(yaml, options);
    await expect(`${JSON.stringify(plan, null, 2)}\n`).toMatchFileSnapshot(
      new URL(`infra/${name}.json`, FIXTURES).pathname,
    );
  });
});
