/**
 * mDNS: says on the local network where this node is, and hears where others are. Only addresses are found that way: who is a
 * member is decided by countersignatures, and a node shows by its certificate that it is the one.
 */

import { Bonjour } from "bonjour-service";
import type { Logger } from "../contracts/ports.ts";
import { urlOf } from "../contracts/urls.ts";
import type { Service } from "./services.ts";

export interface Discovery {
  readonly service: Service;
  /** URL at which the local network says that the node is; null: it does not. */
  foundAt(id: string): string | null;
}

/** As registered names of services are written: `_cairn._tcp`. */
const TYPE = "cairn";
/** More nodes than a local network has; what says it is one costs no more than that. */
const MOST = 1_000;

export function createDiscovery(deps: {
  readonly node: { readonly id: string; readonly name: string };
  /** Of the server, once it listens; null where other machines do not reach it: it then only listens for others. */
  readonly port: () => number | null;
  readonly logger: Logger;
}): Discovery {
  const { node, logger } = deps;
  const found = new Map<string, string>();
  let bonjour: Bonjour | null = null;
  return {
    foundAt: (id) => found.get(id) ?? null,
    service: {
      name: "discovery",
      start() {
        // A network without multicast is no reason not to run.
        const onError = (err: unknown): void =>
          logger.warn({ err }, "mDNS failed: nodes of the local network are not found");
        bonjour = new Bonjour({}, onError);
        const port = deps.port();
        const name = `cairn ${node.name} ${node.id.slice(0, 8)}`;
        if (port !== null) bonjour.publish({ name, type: TYPE, port, txt: { id: node.id } });
        const browser = bonjour.find({ type: TYPE });
        browser.on("up", (service) => {
          const { txt, port, addresses = [], referer } = service;
          const id: unknown = txt?.id;
          const host = addresses.find((address) => address.includes(".")) ?? referer?.address;
          if (typeof id !== "string" || id === node.id || host === undefined) return;
          if (found.size >= MOST && !found.has(id)) return;
          if (!found.has(id)) logger.info({ node: id, host, port }, "mDNS found a node");
          found.set(id, urlOf(host, port, true));
        });
        browser.on("down", (service) => {
          const id: unknown = service.txt?.id;
          if (typeof id === "string") found.delete(id);
        });
      },
      async stop() {
        const { promise, resolve } = Promise.withResolvers<void>();
        const ending = bonjour;
        if (ending === null) return;
        ending.unpublishAll(() => ending.destroy(resolve));
        await promise;
      },
    },
  };
}
