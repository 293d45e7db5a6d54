/** The events of a turn with its words as speech between them. */

import { toCairnError } from "../../../contracts/errors.ts";
import { isFinal, type NumberedEvent, type WaitingQuestion } from "../../../contracts/stream.ts";
import type { SpokenEvent } from "../../../contracts/voice.ts";
import { ReadAloud } from "../../../domain/read-aloud.ts";
import type { Synthesize } from "./speech.ts";
import { SpeechQueue } from "./speech-queue.ts";

/** The event that ends the turn waits for the speech before it; no other one does. */
export async function* speakTurn(
  events: AsyncIterable<NumberedEvent>,
  synthesize: Synthesize,
  signal: AbortSignal,
): AsyncGenerator<SpokenEvent> {
  const queue = new SpeechQueue(synthesize, signal);
  const turn = events[Symbol.asyncIterator]();
  const script = new TurnScript();
  const nextEvent = async () => ({ of: "turn" as const, step: await turn.next() });
  const nextSpoken = () =>
    queue.next().then(
      (spoken) => ({ of: "speech" as const, spoken }),
      (error: unknown) => ({ of: "failure" as const, error }),
    );
  let event: ReturnType<typeof nextEvent> | null = nextEvent();
  let speech: ReturnType<typeof nextSpoken> | null = nextSpoken();
  let final: NumberedEvent | null = null;
  let turnId = "";
  let index = 0;
  try {
    while (event !== null || speech !== null) {
      const came = await Promise.race([event, speech].filter((next) => next !== null));
      if (came.of === "turn") {
        if (came.step.done) {
          event = null;
          queue.end();
          continue;
        }
        const numbered: NumberedEvent = came.step.value;
        turnId = numbered.event.turn_id;
        queue.push(script.take(numbered));
        if (isFinal(numbered.event)) {
          final = numbered;
          event = null;
          queue.end();
        } else {
          yield numbered;
          event = nextEvent();
        }
      } else if (came.of === "speech") {
        if (came.spoken === null) {
          speech = null;
          continue;
        }
        const { mediaType, text, data } = came.spoken;
        const said = { turn_id: turnId, index: index++, media_type: mediaType, text, data: data.toString("base64") };
        yield { event: { type: "voice.audio", ...said } };
        speech = nextSpoken();
      } else {
        speech = null;
        queue.stop();
        signal.throwIfAborted();
        yield { event: { type: "voice.failed", turn_id: turnId, error: toCairnError(came.error).toBody() } };
      }
    }
    if (final) yield final;
  } finally {
    queue.stop();
    // It ends by its signal: nobody waits for it here.
    turn.return?.().catch(() => undefined);
    event?.catch(() => undefined);
  }
}

/** What is said at each event. */
class TurnScript {
  readonly #aloud = new ReadAloud();
  /** Of this attempt at the turn. */
  #words = "";

  take({ event }: NumberedEvent): string[] {
    switch (event.type) {
      case "turn.started":
        this.#words = "";
        this.#aloud.restart();
        return [];
      case "text.delta":
        this.#words += event.text;
        return this.#aloud.push(event.text);
      // What is written before a call is said while the tool works.
      case "tool.started":
        return this.#aloud.end();
      case "turn.waiting":
        return [...this.#aloud.end(), ...this.#whole(spokenQuestion(event.question))];
      case "turn.finished":
        // Of a turn that has ended before, or elsewhere, words may not have come.
        if (bare(this.#words) === bare(event.text)) return this.#aloud.end();
        this.#aloud.restart();
        return this.#whole(event.text);
      case "turn.failed":
        return this.#aloud.end();
      default:
        return [];
    }
  }

  #whole(text: string): string[] {
    return [...this.#aloud.push(text), ...this.#aloud.end()];
  }
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}

/** A call is read, and not listened to: hearing a part of it is no ground for an approval. */
function spokenQuestion({ text, approval }: WaitingQuestion): string {
  return approval === undefined ? text : "I need your approval to go on. Read what I ask for, and approve or deny it.";
}
