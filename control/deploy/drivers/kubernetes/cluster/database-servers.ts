/**
 * The stack's PostgreSQL and one of another major beside it, in one cluster: two pods on one claim, each with a folder of its own
 * there (docs/decisions/055-two-servers-on-one-claim.md).
 */

import {
  claimName,
  databasePath,
  POSTGRES_CLAIM,
  POSTGRES_CONTAINER,
  POSTGRES_NODE,
  podName,
  selectorLabels,
  workloadName,
} from "../../../../../infra/components/kubernetes/names.ts";
import { databaseData } from "../../../../../infra/plan/names.ts";
import { type KubernetesPlan, POSTGRES } from "../../../../../infra/plan/types.ts";
import { postgresProbe } from "../../../../../infra/postgres/configuration.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { DatabaseServers } from "../../../driver.ts";
import { closeDatabase, openDatabase } from "../../../postgres/closed-database.ts";
import {
  contentsOf,
  copyDatabase,
  majorsScript,
  readMajors,
  roomOf,
  runInside,
  type Server,
} from "../../../postgres/programs.ts";
import { failureOf, type Kubectl } from "./kubectl.ts";
import { claimSchema, findObject, parse, podSchema, statefulSetSchema } from "./objects.ts";
import { podHealth } from "./pod-health.ts";
import { secondServer } from "./second-server.ts";
import { createPod, removePod, runPod, untilGone, untilPod } from "./short-pods.ts";

/** Milliseconds: until a server answers that recovers or makes a cluster; of a pod that looks or removes, its image's pull included. */
const START_MS = 600_000;
const SHORT_MS = 300_000;
const REMEDY =
  "Raise deployment.kubernetes.database_size and run `cairn infra up`, where the storage class can grow claims, then the same command again.";

export function databaseServers(kubectl: Kubectl, plan: KubernetesPlan): DatabaseServers {
  const { stack } = plan;
  const workload = workloadName(stack, POSTGRES_NODE);
  const ownPod = podName(stack, POSTGRES_NODE, 0);
  const secondPod = `${workload}-upgrade`;
  const shortName = `${workload}-look`;
  const claim = claimName(POSTGRES_CLAIM, stack, POSTGRES_NODE, 0);
  const user = { uid: POSTGRES.uid, gid: POSTGRES.gid };
  const own = serverIn(kubectl, plan, ownPod);
  const second = serverIn(kubectl, plan, secondPod);
  const pathOf = (data: string): string => databasePath(stack, data);
  /** What `bring` found: of an image, and of the data; null where it could not be asked. */
  const said = new Map<string, string | null>();

  const findWorkload = (signal: AbortSignal) =>
    findObject(kubectl, "statefulset", workload, statefulSetSchema, { signal });
  const findOwn = (signal: AbortSignal) => findObject(kubectl, "pod", ownPod, podSchema, { signal });

  /** A pod of PostgreSQL's image on its claim, or without one, which goes. */
  function once(image: string, script: string, withClaim: boolean, signal: AbortSignal): Promise<string> {
    const pod = {
      name: shortName,
      image,
      argv: ["/bin/sh", "-c", script],
      user,
      mounts: withClaim ? { [claim]: { path: POSTGRES.data, readOnly: false } } : {},
    };
    return runPod(kubectl, plan, pod, { withinMs: SHORT_MS, signal });
  }

  /** Majors as `majorsScript` prints them. Null: there are no data, or the image cannot be asked. */
  async function askImage(image: string, report: (line: string) => void, signal: AbortSignal): Promise<string | null> {
    const script = majorsScript(pathOf(databaseData(plan)));
    const pod = await findOwn(signal);
    const running = pod !== null && podHealth(pod).running;
    const runs = pod?.spec.containers.find(({ name }) => name === POSTGRES_CONTAINER)?.image;
    if (running && runs === image) return runInside(own, ["/bin/sh", "-c", script], signal);
    if ((await findObject(kubectl, "persistentvolumeclaim", claim, claimSchema, { signal })) === null) return null;
    try {
      if (!running) return await once(image, script, true, signal);
      const [version = ""] = (await once(image, script, false, signal)).split("\n");
      const [, data = ""] = (await runInside(own, ["/bin/sh", "-c", script], signal)).split("\n");
      return `${version}\n${data}`;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof InfraError)) throw error;
      report(`${image} could not be asked for its version: ${error.message}`);
      return null;
    }
  }

  async function scale(replicas: number, signal: AbortSignal): Promise<void> {
    await kubectl.run(["scale", "statefulset", workload, `--replicas=${replicas}`], { signal });
  }

  async function untilAnswering(server: Server, signal: AbortSignal): Promise<void> {
    const answers = () =>
      runInside(server, postgresProbe(), signal).then(
        () => true,
        () => false,
      );
    await untilPod(kubectl, server.name, async (pod) => podHealth(pod).running && (await answers()), {
      withinMs: START_MS,
      signal,
    });
  }

  return {
    setting: (data) => ({
      path: ["deployment", "kubernetes", "database_directory"],
      value: pathOf(data).slice(POSTGRES.data.length + 1),
    }),

    async image(_recorded, signal) {
      const containers = (await findWorkload(signal))?.spec.template.spec.containers ?? [];
      return containers.find(({ name }) => name === POSTGRES_CONTAINER)?.image ?? null;
    },

    async bring(image, report, signal) {
      said.set(image, await askImage(image, report, signal));
    },

    async majors(image, signal) {
      const text = said.has(image) ? said.get(image) : await askImage(image, () => undefined, signal);
      return text == null ? null : readMajors(text, image);
    },

    async exists(data, signal) {
      const script = `[ ! -e ${pathOf(data)} ] || echo yes`;
      return (await runInside(own, ["/bin/sh", "-c", script], signal)).trim() === "yes";
    },

    async room(signal) {
      return { ...(await roomOf(own, signal)), remedy: REMEDY };
    },

    async startSecond(image, data, signal) {
      const text = await kubectl.run(["get", "statefulset", workload, "--output=json"], { signal });
      const firstLabels = selectorLabels(stack, "postgres", POSTGRES_NODE);
      const pod = secondServer(parse(text), { stack, name: secondPod, image, claim, path: pathOf(data), firstLabels });
      await createPod(kubectl, secondPod, pod, signal);
      await untilAnswering(second, signal);
    },

    closeToNodes: (signal) => closeDatabase(own, signal),
    copy: (from, signal) => copyDatabase(own, second, from, signal),
    contents: (server, signal) => contentsOf(server === "own" ? own : second, signal),

    async stop(signal) {
      if ((await findWorkload(signal)) === null) return;
      await scale(0, signal);
      await untilGone(kubectl, ownPod, signal);
    },

    async start(signal) {
      const found = await findWorkload(signal);
      if (found === null) return;
      if (found.spec.replicas === 0) await scale(1, signal);
      await untilAppears(signal);
      await untilAnswering(own, signal);
      await openDatabase(own, signal);
    },

    handOver: (_data, signal) => removePod(kubectl, secondPod, signal),

    async removeSecond(data, signal) {
      await removePod(kubectl, secondPod, signal);
      const script = `rm -rf ${pathOf(data)}`;
      const pod = await findOwn(signal);
      if (pod !== null && podHealth(pod).running) await runInside(own, ["/bin/sh", "-c", script], signal);
      else if ((await findObject(kubectl, "persistentvolumeclaim", claim, claimSchema, { signal })) !== null) {
        await once(plan.postgres?.image ?? "", script, true, signal);
      }
    },

    removal(data) {
      const { program, args } = kubectl.command(["exec", ownPod, "--", "rm", "-r", pathOf(data)]);
      return [program, ...args].join(" ");
    },
  };

  /** The controller makes the pod when it sees that it may. */
  async function untilAppears(signal: AbortSignal): Promise<void> {
    await kubectl.run(["wait", "--for=create", `pod/${ownPod}`, "--timeout=60s"], { signal, timeoutMs: 70_000 });
  }
}

function serverIn(kubectl: Kubectl, { context }: KubernetesPlan, pod: string): Server {
  return {
    name: pod,
    port: POSTGRES.port,
    async command(argv, { input }) {
      const words = ["exec", ...(input ? ["--stdin"] : []), `pod/${pod}`, `--container=${POSTGRES_CONTAINER}`, "--"];
      return { ...kubectl.command([...words, ...argv]), close: async () => undefined };
    },
    failure(words, what) {
      // kubectl's own last line says only that something failed.
      const lines = words.split("\n").filter((line) => line.trim() !== "" && !/^command terminated with/.test(line));
      const line = lines.at(-1)?.trim() ?? "";
      const failure = failureOf(line, context);
      if (failure.code !== "INFRA_FAILED" || /forbidden/i.test(line)) return failure;
      return new InfraError("INFRA_FAILED", `\`${what}\` failed: ${line || "it said nothing"}`);
    },
  };
}
