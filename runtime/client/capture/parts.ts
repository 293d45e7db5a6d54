/** A batch of any size as batches that a request can hold: pure. */

import type { CaptureBatch, CaptureEvent } from "../../contracts/capture.ts";

/** Half of what the node takes: a request of this size is stored within a second. */
const MAX_EVENTS = 500;
/** UTF-16 code units of JSON; the node takes 32 MiB of UTF-8, which this stays below in any script. */
const MAX_UNITS = 8 * 1024 * 1024;

/** In order; only the last one finalizes. A single event that is too large stays one: the node says so. */
export function partsOf(batch: CaptureBatch): CaptureBatch[] {
  const parts: CaptureEvent[][] = [[]];
  let units = 0;
  for (const event of batch.events) {
    const size = sizeOf(event);
    const current = parts.at(-1);
    if (current === undefined || (current.length > 0 && (current.length >= MAX_EVENTS || units + size > MAX_UNITS))) {
      parts.push([event]);
      units = size;
    } else {
      current.push(event);
      units += size;
    }
  }
  return parts.map((events, n) => {
    const { finalize, ...rest } = batch;
    return { ...rest, events, ...(finalize && n === parts.length - 1 ? { finalize } : {}) };
  });
}

function sizeOf(event: CaptureEvent): number {
  const args = event.tool_args === undefined || event.tool_args === null ? 0 : JSON.stringify(event.tool_args).length;
  return (event.content?.length ?? 0) + (event.tool_result?.length ?? 0) + args + 500;
}
