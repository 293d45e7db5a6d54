/** Allowed connections: between nodes, from nodes to the database, and from nodes to the outside; nothing else. */

import type { types } from "@pulumi/kubernetes";
import { NetworkPolicy } from "@pulumi/kubernetes/networking/v1/index.js";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { CONTAINER, type KubernetesPlan, POSTGRES } from "../../plan/types.ts";
import { objectLabels, selectorLabels } from "./names.ts";

type Spec = types.input.networking.v1.NetworkPolicySpec;

const DNS = {
  ports: [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ],
};

/** Addresses of the link and the metadata services of clouds, which hand out the machine's credentials. DNS is let through. */
const NEVER = [
  "169.254.0.0/16",
  "fe80::/10",
  // Metadata services outside the link-local range: Alibaba, Azure's host, Oracle.
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  // Metadata services over IPv6: AWS (and its credentials for pods), Google, Oracle, Scaleway, Akamai, Alibaba.
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fd00:c1::a9fe:a9fe/128",
  "fd00:42::42/128",
  "fd00:a9fe:a9fe::1/128",
  "fd00:100::100:200/128",
];

export function makeNetworkPolicies(plan: KubernetesPlan, options: CustomResourceOptions): NetworkPolicy[] {
  const policies: [string, Spec][] = [
    ["default-deny", { podSelector: { matchLabels: selectorLabels(plan.stack) }, policyTypes: ["Ingress", "Egress"] }],
    ["nodes", nodes(plan)],
    ...(plan.postgres ? [["postgres", postgres(plan)] as [string, Spec]] : []),
  ];
  return policies.map(([suffix, spec]) => {
    const name = `${plan.stack}-${suffix}`;
    const metadata = { name, namespace: plan.namespace, labels: objectLabels(plan.stack) };
    return new NetworkPolicy(name, { metadata, spec }, options);
  });
}

function nodes(plan: KubernetesPlan): Spec {
  const ports = [{ port: CONTAINER.port, protocol: "TCP" }];
  // A Service that is open to the outside brings callers from anywhere.
  const from = plan.serviceType === "ClusterIP" ? { from: [podsOf(plan, "node")] } : {};
  return {
    podSelector: { matchLabels: selectorLabels(plan.stack, "node") },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ ...from, ports }],
    egress: [DNS, { to: [podsOf(plan, "node"), ...(plan.postgres ? [podsOf(plan, "postgres")] : []), ...world(plan)] }],
  };
}

/** Model providers, chat platforms, whatever tools fetch: everything but what gives power over the machine or the cluster. */
function world({ deniedNetworks }: KubernetesPlan) {
  const denied = [...NEVER, ...deniedNetworks];
  const of = (ipv6: boolean) => [...new Set(denied.filter((network) => network.includes(":") === ipv6))];
  return [{ ipBlock: { cidr: "0.0.0.0/0", except: of(false) } }, { ipBlock: { cidr: "::/0", except: of(true) } }];
}

function postgres(plan: KubernetesPlan): Spec {
  return {
    podSelector: { matchLabels: selectorLabels(plan.stack, "postgres") },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ from: [podsOf(plan, "node")], ports: [{ port: POSTGRES.port, protocol: "TCP" }] }],
    egress: [DNS],
  };
}

function podsOf(plan: KubernetesPlan, component: "node" | "postgres") {
  return { podSelector: { matchLabels: selectorLabels(plan.stack, component) } };
}
