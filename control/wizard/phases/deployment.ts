/** Phase 2 of a setup: where the service runs, and what that target needs. Pure. */
import { DEPLOYMENT_TARGETS } from "../../../runtime/config/schema/deployment.ts";
import type { Answers } from "../answers.ts";
import { USUAL_LISTEN } from "../detect/free-listen.ts";
import type { PhaseInput, Question } from "./question.ts";

const FIRST_NODE = "node-1";

export function deploymentQuestions(input: PhaseInput): Question[] {
  const { answers, facts } = input;
  const { target } = answers.deployment;
  // What most people want comes first, called by what it is.
  const targets = [
    { value: "manual", name: "this machine" },
    ...DEPLOYMENT_TARGETS.filter((value) => value !== "manual").map((value) => ({ value, name: value })),
  ];
  const questions: Question[] = [
    { kind: "select", path: ["deployment", "target"], choices: targets, default: target },
    ...stackQuestions(answers),
    ...ofTarget[target](input),
    { kind: "select", path: ["memory"], choices: memoryChoices(answers), default: memoryDefault(input) },
    ...databaseQuestions(answers, memoryDefault(input)),
  ];
  if (target === "manual")
    questions.push({
      kind: "input",
      path: ["listen"],
      default: answers.listen ?? facts.listen ?? USUAL_LISTEN,
      required: true,
    });
  questions.push({ kind: "input", path: ["timezone"], default: answers.timezone ?? facts.timezone, required: true });
  return questions;
}

const ofTarget = {
  manual: (): Question[] => [],
  docker: ({ answers }: PhaseInput): Question[] => {
    const { docker, nodes } = answers.deployment;
    const host = docker.host ?? "local";
    return [
      { kind: "input", path: ["deployment", "docker", "host"], default: host, required: true },
      { kind: "input", path: ["deployment", "docker", "network"], default: docker.network ?? "cairn", required: true },
      nodesQuestion(answers),
      // One node runs where the nodes run.
      ...(nodes.length < 2 ? [] : nodes).map((node): Question => {
        const path = ["deployment", "nodes", node.name, "host"];
        return { kind: "input", path, about: { node: node.name }, default: node.host ?? host, required: true };
      }),
    ];
  },
  proxmox: ({ answers }: PhaseInput): Question[] => {
    const { proxmox, nodes } = answers.deployment;
    const at = (key: keyof typeof proxmox): string[] => ["deployment", "proxmox", key];
    const questions: Question[] = [
      { kind: "input", path: at("host"), default: proxmox.host, required: true },
      { kind: "input", path: at("port"), default: String(proxmox.port ?? 22), required: true },
    ];
    if (proxmox.host !== undefined) {
      const { host, port = 22, host_key } = proxmox;
      questions.push({ kind: "host-key", path: at("host_key"), about: { host }, default: host_key, host, port });
    } else questions.push({ kind: "host-key", path: at("host_key"), host: "", port: 22 });
    const template = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";
    questions.push(
      { kind: "input", path: at("user"), default: proxmox.user ?? "root", required: true },
      { kind: "input", path: at("identity_file"), default: proxmox.identity_file, required: false },
      { kind: "input", path: at("template"), default: proxmox.template ?? template, required: true },
      { kind: "input", path: at("storage"), default: proxmox.storage ?? "local-lvm", required: true },
      { kind: "input", path: at("bridge"), default: proxmox.bridge ?? "vmbr0", required: true },
      nodesQuestion(answers),
      ...nodes.map(({ name, address }): Question => {
        const path = ["deployment", "nodes", name, "address"];
        return { kind: "input", path, about: { node: name }, default: address ?? "dhcp", required: true };
      }),
    );
    return questions;
  },
  kubernetes: ({ answers, facts }: PhaseInput): Question[] => {
    const { kubernetes } = answers.deployment;
    const at = (key: keyof typeof kubernetes): string[] => ["deployment", "kubernetes", key];
    const context = kubernetes.context ?? facts.kubernetes?.current ?? undefined;
    const found = facts.kubernetes?.contexts ?? [];
    const contexts = context === undefined || found.includes(context) ? found : [context, ...found];
    const which: Question =
      context === undefined || contexts.length < 2
        ? { kind: "input", path: at("context"), default: context, required: false }
        : {
            kind: "select",
            path: at("context"),
            choices: contexts.map((value) => ({ value, name: value })),
            default: context,
          };
    return [
      which,
      { kind: "input", path: at("namespace"), default: kubernetes.namespace ?? "cairn", required: true },
      { kind: "input", path: at("storage_class"), default: kubernetes.storage_class, required: false },
      { kind: "input", path: at("replicas"), default: String(kubernetes.replicas ?? 1), required: true },
    ];
  },
} as const;

function stackQuestions({ deployment }: Answers): Question[] {
  if (deployment.target === "manual") return [];
  return [{ kind: "input", path: ["deployment", "name"], default: deployment.name ?? "cairn", required: true }];
}

function nodesQuestion({ deployment: { nodes } }: Answers): Question {
  const names = nodes.length > 0 ? nodes.map(({ name }) => name) : [FIRST_NODE];
  return { kind: "names", path: ["deployment", "nodes"], default: names };
}

function memoryChoices({ deployment: { target } }: Answers) {
  const places =
    target === "manual" ? (["embedded", "postgres"] as const) : (["datahub", "postgres", "embedded"] as const);
  return places.map((value) => ({ value, name: value }));
}

function memoryDefault({ answers, env }: PhaseInput): "embedded" | "postgres" | "datahub" {
  const manual = answers.deployment.target === "manual";
  if (answers.memory !== undefined && !(manual && answers.memory === "datahub")) return answers.memory;
  if (env["SERVICE_PG_URL"]) return "postgres";
  return manual ? "embedded" : "datahub";
}

/** A database that is deployed has to be found by the nodes, and a volume of all nodes is on one host. */
function databaseQuestions({ deployment, memory }: Answers, fallback: string): Question[] {
  if (deployment.target === "manual") return [];
  const questions: Question[] = [];
  const deployed = (memory ?? fallback) === "datahub";
  if (deployment.target === "proxmox") questions.push(...addressQuestions(deployment, deployed));
  const common = deployment.docker.host ?? "local";
  const apart = deployment.nodes.some(({ host }) => host !== undefined && host !== common);
  if (deployment.target === "docker" && apart) {
    if (deployed)
      questions.push({ kind: "input", path: ["deployment", "publish"], default: deployment.publish, required: true });
    return questions;
  }
  const shared = deployment.shared_storage ?? false;
  const several = deployment.nodes.length > 1 || (deployment.kubernetes.replicas ?? 1) > 1;
  if (!several && !shared) return questions;
  return [...questions, { kind: "confirm", path: ["deployment", "shared_storage"], default: shared }];
}

/** Containers with addresses of their own need a gateway. */
function addressQuestions({ proxmox, nodes }: Answers["deployment"], deployed: boolean): Question[] {
  const at = (key: keyof typeof proxmox): string[] => ["deployment", "proxmox", key];
  const fixed = nodes.some(({ address }) => address !== undefined && address !== "dhcp");
  return [
    ...(deployed
      ? [{ kind: "input", path: at("postgres_address"), default: proxmox.postgres_address, required: true } as const]
      : []),
    ...(deployed || fixed
      ? [{ kind: "input", path: at("gateway"), default: proxmox.gateway, required: false } as const]
      : []),
  ];
}
