import { type FakeOptions, type FakeServer, startFake } from "../shared/server.ts";
import { openAiWire } from "./wire.ts";

export type { FakeReply, FakeScript, RecordedRequest } from "../shared/script.ts";
export type { FakeServer } from "../shared/server.ts";

/** A chat-completions server on loopback; shared/directives.ts says what it does without a script. */
export function startOpenAiFake(options?: FakeOptions): Promise<FakeServer> {
  return startFake(openAiWire, options);
}
