/** Capture for programs: `createCaptureClient` of `cairn-agents/client`. */

export type { CaptureBatch, CaptureEvent, CaptureResult } from "../../contracts/capture.ts";
export { createCaptureClient } from "./client.ts";
export type {
  CaptureClient,
  CaptureClientOptions,
  Delivery,
  ReplayReport,
  SendReport,
  SpoolProblem,
  SpoolStatus,
} from "./types.ts";
