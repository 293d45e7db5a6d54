/** The HTTP client of a node: for the command line, and for other programs as `cairn-agents/client`. */

export type { CommandReply } from "../contracts/channel.ts";
export { CairnError, type ErrorBody, type ErrorCode } from "../contracts/errors.ts";
export type { ForgetPreview, ForgetReport, Selection } from "../contracts/forgetting.ts";
export type { SentAttachment, StreamEvent, TurnResult } from "../contracts/stream.ts";
export type { VoiceEvent } from "../contracts/voice.ts";
export type { ApprovedMcpTools, ChangedMcpTools } from "./access.ts";
export {
  type CaptureBatch,
  type CaptureClient,
  type CaptureClientOptions,
  type CaptureEvent,
  type CaptureResult,
  createCaptureClient,
  type Delivery,
  type ReplayReport,
  type SendReport,
  type SpoolProblem,
  type SpoolStatus,
} from "./capture/index.ts";
export { type Client, type ClientOptions, createClient } from "./client.ts";
export type {
  BackfillResult,
  BackupEntry,
  BackupList,
  BackupStatus,
  Departure,
  FollowOptions,
  Health,
  JoinResult,
  JoinTokenResult,
  MeshNode,
  MessageRequest,
  PeerPing,
  Ping,
  QueueStatus,
  RestoreReport,
  RetryResult,
  ScheduleRun,
  ScheduleStatus,
  SendOptions,
  SessionKind,
  SessionRecord,
  ShownRow,
  TokenRecord,
  UsageCounts,
  UsageQuery,
  UsageReport,
  WikiList,
  WikiPage,
} from "./types.ts";
export type { VoiceOptions, VoiceRequest } from "./voice.ts";
