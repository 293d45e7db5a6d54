import { AnswerSize } from "../../../domain/answer-size.ts";
import type { Failure } from "../../shared/model-http/failure.ts";

/** Reading a stream failed in a way that the SDKs do not report themselves. */
export class StreamFault extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind === "garbage" ? failure.found : failure.kind);
    this.name = "StreamFault";
    this.failure = failure;
  }
}

/** Whether it holds more than an answer may: such a one is of no use, whatever else of it has come. */
export function isEndless(error: unknown): boolean {
  return error instanceof StreamFault && error.failure.kind === "endless";
}

/** The size of an answer while its stream is read. */
export function answerSize(): AnswerSize {
  return new AnswerSize((bound) => new StreamFault({ kind: "endless", bound }));
}
