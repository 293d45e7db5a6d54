/** What the programs of a machine that runs pods are told. */

import { join } from "node:path";

export const NODE_NAME = "machine";
const PODS = "10.244.0.0/16";
const DOMAIN = "cluster.local";

/** Of containerd 1.7. `pause`: the image that holds a pod's namespaces. */
export function containerdConfig(at: {
  readonly directory: string;
  readonly networks: string;
  readonly networkPlugins: string;
  readonly pause: string;
}): string {
  return `version = 2
root = "${join(at.directory, "containerd")}"
state = "${join(at.directory, "containerd-state")}"

[grpc]
  address = "${join(at.directory, "containerd.sock")}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/${at.pause}"
  # A machine in a container may not raise the priority that the kernel gives to a process when memory is short.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${at.networkPlugins}"
    conf_dir = "${at.networks}"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

/** One bridge: pods reach each other, and this machine by the machine's own address. */
export function podNetwork(directory: string): object {
  return {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      {
        type: "bridge",
        bridge: "pods",
        isGateway: true,
        ipMasq: true,
        // A pod may reach itself by its Service.
        hairpinMode: true,
        ipam: {
          type: "host-local",
          dataDir: join(directory, "addresses"),
          ranges: [[{ subnet: PODS }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

/** `cgroup`: path of the machine's group. `resolver`: a file like /etc/resolv.conf for names that are not the cluster's. */
export function kubeletConfig(at: {
  readonly directory: string;
  readonly address: string;
  readonly cgroup: string;
  readonly resolver: string;
}): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    // Its address is reached from this machine alone.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    containerRuntimeEndpoint: `unix://${join(at.directory, "containerd.sock")}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: at.cgroup,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    podLogsDir: join(at.directory, "pods"),
    // Images are brought once, and the disk is this machine's.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "nodefs.inodesFree": "1%",
      "imagefs.available": "1%",
    },
    clusterDNS: [at.address],
    clusterDomain: DOMAIN,
    resolvConf: at.resolver,
  };
}

export function proxyConfig({ kubeconfig }: { readonly kubeconfig: string }): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "iptables",
    clusterCIDR: PODS,
    hostnameOverride: NODE_NAME,
    clientConnection: { kubeconfig },
    // These are the whole kernel's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}

/** Of CoreDNS. */
export function zone(at: { readonly kubeconfig: string; readonly address: string }): string {
  return `.:53 {
  bind ${at.address}
  errors
  kubernetes ${DOMAIN} in-addr.arpa {
    kubeconfig ${at.kubeconfig} fleet
  }
}
`;
}
