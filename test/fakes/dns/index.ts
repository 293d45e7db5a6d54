/** A name server on loopback whose answers to one question may differ from one time to the next. A and AAAA over UDP. */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";

export interface FakeDns {
  /** For `Resolver.setServers`. */
  readonly address: string;
  /** Questions so far: `A name`. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Addresses of a name, of both kinds. */
export type Zone = (name: string) => readonly string[];

const TYPES: Readonly<Record<number, string>> = { 1: "A", 28: "AAAA" };

export async function startDnsFake(zone: Zone): Promise<FakeDns> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = question(query);
    asked.push(`${TYPES[type] ?? type} ${name}`);
    const addresses = zone(name).filter((address) => isIPv4(address) === (type === 1));
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // A response, authoritative, without an error; one question.
    header.writeUInt16BE(0x8580, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    const answers = addresses.map((address) => record(type, address));
    socket.send(Buffer.concat([header, query.subarray(12, end), ...answers]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
}

function question(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Of the name of the question, for no time at all. */
function record(type: number, address: string): Buffer {
  const data = type === 1 ? Buffer.from(address.split(".").map(Number)) : ipv6(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function ipv6(address: string): Buffer {
  const [head = "", tail] = address.split("::");
  const groups = (text: string | undefined) => (text ? text.split(":").map((group) => Number.parseInt(group, 16)) : []);
  const [first, last] = [groups(head), groups(tail)];
  const words = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}
