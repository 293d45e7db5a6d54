/** Which of several nodes receives for a channel. */

import { expect } from "vitest";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "./node-process.ts";

export interface ChannelHealth {
  readonly platform: string;
  readonly state: string;
  readonly reason: string | null;
}

export async function channelState(node: NodeProcess, channel: string): Promise<ChannelHealth | undefined> {
  const { channels } = await node.call<{ channels: Readonly<Record<string, ChannelHealth>> }>("/health");
  return channels[channel];
}

/** The one of them that receives, as soon as there is exactly one. */
export async function receiverOf(nodes: readonly NodeProcess[], channel: string): Promise<NodeProcess> {
  let found: NodeProcess[] = [];
  const receiving = async (): Promise<number> => {
    const states = await Promise.all(nodes.map((node) => channelState(node, channel)));
    found = nodes.filter((_, index) => states[index]?.state === "up");
    return found.length;
  };
  await expect.poll(receiving, { timeout: EVENTUALLY_MS, interval: 50 }).toBe(1);
  return found[0] as NodeProcess;
}
