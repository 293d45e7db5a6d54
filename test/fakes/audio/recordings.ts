/** Recordings for the fake: WAV files of one channel whose samples are the letters of what is said. */

const HEADER = 44;

export function recordingOf(words: string): Buffer<ArrayBuffer> {
  const samples = Buffer.from(words);
  const header = Buffer.alloc(HEADER);
  header.write("RIFF", 0);
  header.writeUInt32LE(HEADER - 8 + samples.length, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  // PCM, one channel, 8,000 samples a second, one byte each.
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** Null for what is no such file. */
export function wordsOf(file: Buffer): string | null {
  const isWave = file.subarray(0, 4).toString() === "RIFF" && file.subarray(8, 12).toString() === "WAVE";
  if (!isWave || file.length < HEADER || file.readUInt32LE(40) !== file.length - HEADER) return null;
  return file.subarray(HEADER).toString();
}
