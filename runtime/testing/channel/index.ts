/** Checks for authors of channels, as `cairn-agents/testing/channel` (docs/plugins.md), with the contract that they check. */

export type {
  AcceptedMessage,
  Address,
  Admission,
  Attachment,
  Channel,
  ChannelState,
  CommandHandler,
  CommandReply,
  CommandRequest,
  EditResult,
  InboundMessage,
  KeepSent,
  MessageHandler,
  OutboundMessage,
  Receiver,
  Reception,
  ReceptionPosition,
  Stranger,
  StrangerHandler,
} from "../../contracts/channel.ts";
export { ChannelError } from "../../contracts/errors.ts";
export type { ConformanceCheck } from "../check.ts";
export { channelConformance } from "./conformance.ts";
export type {
  ChannelFeature,
  ChannelHarness,
  DeliveredMessage,
  FakePlatform,
  OpenChannel,
  ShownMessage,
} from "./harness.ts";
