import type { ChannelManifest } from "../manifest.ts";

const ADDRESS = { pattern: /^https?:\/\/\S+$/, allowed: "an address that starts with http:// or https://" } as const;

export const voice = {
  kind: "channel",
  id: "voice",
  about: "Recordings over HTTP, answered by speech, sentence by sentence",
  configuration: "channels.<id>",
  setup: {
    fields: [
      {
        key: "transcription.base_url",
        label: "Address of the API that turns speech into text",
        usual: "https://api.openai.com/v1",
        where:
          "Voice needs an OpenAI-compatible API with /audio/transcriptions and /audio/speech, of a service or of your own.",
        ...ADDRESS,
      },
      { key: "transcription.model", label: "Its model", usual: "gpt-4o-transcribe" },
      {
        key: "transcription.api_key",
        label: "Key of the transcription",
        variable: "OPENAI_API_KEY",
        empty: "no key",
        where: "OpenAI's keys are made at https://platform.openai.com/api-keys.",
      },
      {
        key: "speech.base_url",
        label: "Address of the API that turns text into speech",
        like: "transcription.base_url",
        ...ADDRESS,
      },
      { key: "speech.model", label: "Its model", usual: "gpt-4o-mini-tts" },
      { key: "speech.voice", label: "Its voice", usual: "alloy" },
      {
        key: "speech.api_key",
        label: "Key of the speech",
        variable: "OPENAI_API_KEY",
        like: "transcription.api_key",
        empty: "no key",
      },
    ],
    verify: async (secret, signal) => (await import("./verify.ts")).verifyKey(secret, signal),
  },
  create: async (needs) => (await import("./index.ts")).createVoiceChannel(needs),
} as const satisfies ChannelManifest;
