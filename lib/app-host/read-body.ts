/** Reads a body up to a size and time limit: its content is only informative. */

export const bodyLimits = { bytes: 65_536, timeoutMs: 2_000 } as const;

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export const sleepByTimer: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** @returns the parsed JSON; undefined where the body is not JSON, too long, too slow, or incomplete */
export const readJsonBody = async (request: Request, sleep: Sleep): Promise<unknown> => {
  if (request.body === null || request.bodyUsed) return undefined;
  const reader = request.body.getReader();
  const sleepController = new AbortController();
  try {
    const text = await Promise.race([textOf(reader), sleep(bodyLimits.timeoutMs, sleepController.signal)]);
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  } finally {
    sleepController.abort();
    void reader.cancel().catch(() => undefined);
  }
};

const textOf = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> => {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > bodyLimits.bytes) return undefined;
    text += decoder.decode(value, { stream: true });
  }
};
