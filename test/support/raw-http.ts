/** HTTP as bytes on a socket, for requests that no client library sends. */

import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

export interface RawConnection {
  readonly socket: Socket;
  /** What has come so far. */
  readonly text: () => string;
  /** Whether the server has closed or reset the connection. */
  readonly closed: () => boolean;
  /** Milliseconds until the connection was closed; Infinity where it stays open for `ms`. */
  closedWithin(ms: number): Promise<number>;
  /** Status of the first answer; 0 where none comes before the connection ends or `ms` are over. */
  status(ms?: number): Promise<number>;
}

/** Connects, sends the text and goes on reading. The client never ends its side by itself. */
export async function rawRequest(url: string, text: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let received = "";
  let over = false;
  const end = () => {
    over = true;
  };
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  socket.on("end", end).on("close", end).on("error", end);
  const started = performance.now();
  socket.write(text);
  const statusNow = () => Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0);
  return {
    socket,
    text: () => received,
    closed: () => over,
    async closedWithin(ms) {
      while (!over && performance.now() - started < ms) await sleep(10);
      return over ? performance.now() - started : Number.POSITIVE_INFINITY;
    },
    async status(ms = 5_000) {
      while (statusNow() === 0 && !over && performance.now() - started < ms) await sleep(5);
      return statusNow();
    },
  };
}

/** A request's head, lines as given, then an empty line. */
export function head(...lines: readonly string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}
