/** A batch of any size as batches that a request can hold: pure. */

import type { CaptureBatch, CaptureEvent } from "../../contracts/capture.ts";

/** Half of what the node takes: a request of this size is stored within a second. */
const MAX_EVENTS = 500;
/** Of JSON in UTF-8, escapes and all; the node takes 32 MiB. */
const MAX_BYTES = 8 * 1024 * 1024;

/** In order; only the last one finalizes. A single event that is too large stays one: the node refuses it. */
export function partsOf(batch: CaptureBatch): CaptureBatch[] {
  const parts: CaptureEvent[][] = [[]];
  let bytes = 0;
  for (const event of batch.events) {
    const size = sizeOf(event);
    const current = parts.at(-1);
    if (current === undefined || (current.length > 0 && (current.length >= MAX_EVENTS || bytes + size > MAX_BYTES))) {
      parts.push([event]);
      bytes = size;
    } else {
      current.push(event);
      bytes += size;
    }
  }
  return parts.map((events, n) => {
    const { finalize, ...rest } = batch;
    return { ...rest, events, ...(finalize && n === parts.length - 1 ? { finalize } : {}) };
  });
}

function sizeOf(event: CaptureEvent): number {
  return Buffer.byteLength(JSON.stringify(event)) + 1;
}
