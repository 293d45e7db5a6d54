/** A node that was set up by hand as a rollout drives it: its unit on its machine, and its HTTP interface by a connection that leads there. */

import { createReadStream } from "node:fs";
import process from "node:process";
import { parse } from "dotenv";
import semver from "semver";
import type { Client } from "../../../runtime/client/index.ts";
import { createOnePasswordReader } from "../../../runtime/config/one-password.ts";
import { isSecretReference } from "../../../runtime/config/references.ts";
import { InfraError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { urlOf } from "../../../runtime/contracts/urls.ts";
import { fencedCommand, throwIfFenced } from "../../deploy/fence.ts";
import type { FencingToken, NodeDriver } from "../../rollout/contracts.ts";
import type { FleetDoor } from "../../rollout/fleet-database.ts";
import { gate } from "../../rollout/gate.ts";
import { drainNode, healthOf } from "../../rollout/node-calls.ts";
import { announcedEndpoint, clientOf } from "../../service/node-client.ts";
import type { Host } from "./host.ts";
import type { FleetProgram } from "./program.ts";
import { catCommand, snapshotCommand, stageCommand, swapCommand, tokenCommand } from "./scripts.ts";
import { parseSnapshot, type Snapshot, versionOfImage } from "./snapshot.ts";
import { parseUnit, type Unit } from "./unit.ts";

export interface ManualNode extends FleetDoor, NodeDriver {
  readonly host: Host;
  readonly unitName: string;
  unit(signal: AbortSignal): Promise<Unit>;
  snapshot(signal: AbortSignal): Promise<Snapshot>;
  /** Brings the program there, beside what serves. INFRA_BUILD_FAILED, INFRA_DISK_FULL, INFRA_UP_REFUSED. */
  stage(program: FleetProgram, signal: AbortSignal): Promise<void>;
}

export interface ManualNodeContext {
  readonly stack: string;
  readonly name: string;
  /** Of systemd. */
  readonly unitName: string;
  readonly host: Host;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly monotonic: () => number;
  readonly report: (text: string) => void;
}

/** Milliseconds: for an archive and its packages; for a swap beyond what the unit gets to stop; until a node is ready. */
const STAGE_MS = 15 * 60_000;
const SWAP_MARGIN_MS = 120_000;
const READY_MS = 180_000;
const POLL_MS = 1_000;

export function manualNode({ stack, name, unitName, host, sleep, monotonic, report }: ManualNodeContext): ManualNode {
  let cached: Promise<Unit> | null = null;
  let token: Promise<string> | null = null;

  async function readUnit(signal: AbortSignal): Promise<Unit> {
    const hint = "`cairn service install` there writes one; deployment.nodes[].unit says what it is called.";
    const text = await host.run({ words: catCommand(unitName), signal }).catch((error: unknown) => {
      if (!(error instanceof InfraError) || error.code !== "INFRA_UP_REFUSED" || error.details.hint) throw error;
      throw new InfraError("INFRA_UP_REFUSED", error.message, { cause: error, hint });
    });
    const unit = parseUnit(text);
    if (unit !== null) return unit;
    throw new InfraError("INFRA_UP_REFUSED", `${host.label}: the unit ${unitName} runs no node that it names.`, {
      hint,
    });
  }

  /** Read once: nothing of it changes by an update. */
  function unit(signal: AbortSignal): Promise<Unit> {
    cached ??= readUnit(signal).catch((error: unknown) => {
      cached = null;
      throw error;
    });
    return cached;
  }

  async function snapshot(signal: AbortSignal): Promise<Snapshot> {
    return parseSnapshot(await host.run({ words: snapshotCommand(unitName, await unit(signal)), signal }));
  }

  async function readToken(signal: AbortSignal): Promise<string> {
    const { SERVICE_API_TOKEN: written } = parse(await host.run({ words: tokenCommand(await unit(signal)), signal }));
    if (!written) {
      throw new InfraError(
        "INFRA_UP_REFUSED",
        `${host.label}: the node of ${unitName} has no SERVICE_API_TOKEN in .env.`,
      );
    }
    return isSecretReference(written) ? createOnePasswordReader({ env: process.env })(written) : written;
  }

  function ownersToken(signal: AbortSignal): Promise<string> {
    token ??= readToken(signal).catch((error: unknown) => {
      token = null;
      throw error;
    });
    return token;
  }

  async function callAt<T>({ file }: Snapshot, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    const { node } = await unit(signal);
    if (file === null) throw new RuntimeError("RUNTIME_NOT_RUNNING", `${name} does not run (${host.label}).`);
    const { hostname, port, protocol } = new URL(file.url);
    const isTls = protocol === "https:";
    const to = { host: hostname.replaceAll(/[[\]]/g, ""), port: Number(port) || (isTls ? 443 : 80) };
    const tunnel = await host.reach(node, to);
    try {
      const endpoint = { ...announcedEndpoint(file), url: urlOf(tunnel.host, tunnel.port, isTls) };
      return await work(clientOf(endpoint, { token: await ownersToken(signal) }));
    } finally {
      tunnel.close();
    }
  }

  const call: FleetDoor["call"] = async (signal, work) => callAt(await snapshot(signal), signal, work);

  /** A command of which no older one acts beside it or after it. */
  async function fenced(
    token: FencingToken,
    words: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const command = fencedCommand({ stack, node: name, token }, words);
    throwIfFenced(await host.run({ words: command, timeoutMs, signal }), { node: name });
  }

  return {
    name,
    host,
    unitName,
    unit,
    snapshot,
    call,
    async stage({ file, image, sha256, engines }, signal) {
      const { engine } = await snapshot(signal);
      if (engines !== null && !semver.satisfies(engine, engines)) {
        throw new InfraError(
          "INFRA_UP_REFUSED",
          `${host.label}: ${image} needs Node ${engines}, and ${name} has ${engine}.`,
        );
      }
      report(`Bringing ${versionOfImage(image)} to ${name}`);
      const words = stageCommand(await unit(signal), image, sha256);
      await host.run({ words, input: createReadStream(file), timeoutMs: STAGE_MS, signal });
    },
    async observe(signal) {
      const found = await snapshot(signal);
      const { image, active, pid } = found;
      if (image === null) return { image, version: null, ready: false, instance: "" };
      const said =
        active === "active"
          ? await healthOf((_, work) => callAt(found, signal, work), sleep, signal).catch(() => null)
          : null;
      signal.throwIfAborted();
      return {
        image,
        version: said?.version ?? null,
        // What is installed and what runs may be two: then it has to be started anew.
        ready: said?.ready === true && said.version === versionOfImage(image),
        instance: `${pid} ${said?.started_at ?? ""}`,
      };
    },
    fence: (token, signal) => fenced(token, ["true"], SWAP_MARGIN_MS, signal),
    async drain(token, holdMs, signal) {
      const found = await snapshot(signal);
      if (found.active !== "active" || found.file === null) return;
      report(`Letting the turns of ${name} end`);
      const { stopTimeoutS } = await unit(signal);
      const door: FleetDoor = { name, call: (until, work) => callAt(found, until, work) };
      await drainNode(door, { token, holdMs, stopTimeoutS, warn: report }, signal);
    },
    async swap(image, token, signal) {
      const at = await unit(signal);
      report(`Stopping ${name}, and starting it with ${versionOfImage(image)}`);
      await fenced(token, swapCommand(unitName, at, image), at.stopTimeoutS * 1_000 + SWAP_MARGIN_MS, signal);
    },
    async gate(image, signal) {
      report(`Testing ${name}`);
      await untilReady(signal);
      await call(signal, async (client) => {
        const { agents } = await client.health({ signal });
        await gate(client, Object.keys(agents)[0] ?? "main", versionOfImage(image), signal);
      });
    },
  };

  /** RUNTIME_START_FAILED where it is not, or where systemd has given it up. */
  async function untilReady(signal: AbortSignal): Promise<void> {
    const began = monotonic();
    const hint = `See \`journalctl --unit ${unitName}\` and \`cairn logs\` there.`;
    for (;;) {
      const found = await snapshot(signal);
      if (found.active === "failed" || found.active === "inactive") {
        throw new RuntimeError("RUNTIME_START_FAILED", `${name} ended at its start (${host.label}).`, { hint });
      }
      const ready = await callAt(found, signal, (client) => client.ready({ signal })).catch(() => false);
      signal.throwIfAborted();
      if (ready) return;
      if (monotonic() - began >= READY_MS) {
        throw new RuntimeError("RUNTIME_START_FAILED", `${name} was not ready after ${READY_MS / 1_000} s.`, { hint });
      }
      await sleep(POLL_MS, signal);
    }
  }
}
