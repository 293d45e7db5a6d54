import { Duplex } from "node:stream";

/**
 * The socket that the driver believes to have: what it writes goes to the store's thread as one message for each
 * flush, what comes back is pushed in.
 */
export class ThreadStream extends Duplex {
  /** What is written now may be lost in a power cut. */
  relaxed = false;
  readonly #send: (bytes: Uint8Array, relaxed: boolean) => void;

  constructor(send: (bytes: Uint8Array, relaxed: boolean) => void) {
    super();
    this.#send = send;
  }

  connect(): this {
    process.nextTick(() => this.emit("connect"));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(new Uint8Array(chunk), this.relaxed);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(new Uint8Array(Buffer.concat(chunks.map(({ chunk }) => chunk))), this.relaxed);
    done();
  }

  override _read(): void {
    // Pushed by the thread's messages.
  }
}
