import { expect, test } from "vitest";
import { recordingFile } from "../../../runtime/domain/recording.ts";

test.each<[string, string, string, string]>([
  ["memo.wav", "audio/wav", "memo.wav", "audio/wav"],
  ["", "audio/mpeg", "recording.mp3", "audio/mpeg"],
  ["", "audio/ogg; codecs=opus", "recording.ogg", "audio/ogg"],
  ["blob", "audio/webm;codecs=opus", "recording.webm", "audio/webm"],
  ["blob", "video/webm", "recording.webm", "video/webm"],
  ["a.M4A", "application/octet-stream", "a.M4A", "audio/mp4"],
  ["a.flac", "text/plain", "a.flac", "audio/flac"],
  // The service decides about what it may not have heard of.
  ["a.amr", "audio/amr", "recording.amr", "audio/amr"],
])("%s as %s is %s as %s", (name, mediaType, sentName, sentType) => {
  expect(recordingFile({ name, mediaType })).toEqual({ name: sentName, mediaType: sentType });
});

test.each([
  ["a.gif", "image/gif"],
  ["a.bin", "application/octet-stream"],
  ["a.wav", "text/html"],
  ["constructor", "application/octet-stream"],
  ["", ""],
  ["", "audio/"],
  ["", "constructor"],
])("%s as %s is none", (name, mediaType) => {
  expect(() => recordingFile({ name, mediaType })).toThrow(/A recording is audio/);
});
