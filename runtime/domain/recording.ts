/** What is taken as a recording, and the file name by which transcription services recognise its format. Pure. */

import { RuntimeError } from "../contracts/errors.ts";

/** By the endings that OpenAI's transcription takes. */
const TYPES: Readonly<Record<string, string>> = {
  flac: "audio/flac",
  m4a: "audio/mp4",
  mp3: "audio/mpeg",
  mp4: "audio/mp4",
  mpeg: "audio/mpeg",
  mpga: "audio/mpeg",
  oga: "audio/ogg",
  ogg: "audio/ogg",
  opus: "audio/ogg",
  wav: "audio/wav",
  webm: "audio/webm",
};

/** Where the ending is none of the type's own name. */
const ENDINGS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
  "audio/mp4": "m4a",
  "audio/x-m4a": "m4a",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/vnd.wave": "wav",
  "audio/x-flac": "flac",
  // Of browsers that record.
  "video/webm": "webm",
  "video/mp4": "mp4",
};

/** What programs say that do not look at a file. */
const UNSAID = new Set(["", "application/octet-stream", "text/plain"]);

export interface RecordingFile {
  readonly name: string;
  readonly mediaType: string;
}

/** RUNTIME_UNSUPPORTED_MEDIA_TYPE for what is no audio, by its type, or where that says nothing by its name. */
export function recordingFile(file: RecordingFile): RecordingFile {
  const type = (file.mediaType.split(";")[0] ?? "").trim().toLowerCase();
  const ending = /\.([a-z0-9]{2,5})$/i.exec(file.name)?.[1]?.toLowerCase() ?? "";
  const byName = Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
  const mediaType = UNSAID.has(type) ? byName : type;
  const [, subtype = ""] = /^audio\/([\w.+-]{1,40})$/.exec(mediaType ?? "") ?? [];
  const byType = Object.hasOwn(ENDINGS, mediaType ?? "") ? ENDINGS[mediaType ?? ""] : subtype;
  if (mediaType === undefined || !byType) {
    throw new RuntimeError(
      "RUNTIME_UNSUPPORTED_MEDIA_TYPE",
      `A recording is audio, and not ${type.slice(0, 100) || "without a type"}.`,
      {
        hint: `Send it as audio/..., or with a name that ends in ${Object.keys(TYPES).join(", ")}.`,
      },
    );
  }
  return { name: byName === undefined ? `recording.${byType}` : file.name, mediaType };
}
