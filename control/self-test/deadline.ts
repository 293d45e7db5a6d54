/** Work with a deadline, which also ends the wait for work that does not listen to its signal. */

export class Late extends Error {}

/** Late after `timeoutMs`, the reason of `signal`, or the error of the work. */
export async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const late = new Promise<never>((_resolve, reject) => {
    deadline.addEventListener("abort", () => reject(new Late()), { once: true });
  });
  try {
    return await Promise.race([work(AbortSignal.any([signal, deadline])), late]);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new Late(`not done after ${timeoutMs / 1_000} s`);
    throw error;
  }
}
