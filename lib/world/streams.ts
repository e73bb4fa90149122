/** Streams of a World in the shapes of both version lines. A reader polls, because the service does not keep connections open. */
import { defined } from '../base/defined.ts';
import { parseAnswer } from './answers.ts';
import { WorldError } from './errors.ts';
import type { Ask } from './storage.ts';
import type { Chunk, ChunkOptions, ChunkPage, FlatStreamer, StreamPosition, WorldStreams } from './types.ts';

const pollIntervals = {
  /** after a page with chunks */
  firstMs: 50,
  maxMs: 500,
  factor: 1.5,
} as const;

/** A reader goes on after interruptions: the SDK itself reopens some readers only. */
const reconnects = {
  /** in a row, without a chunk in between */
  max: 10,
  firstPauseMs: 250,
  maxPauseMs: 10_000,
} as const;

/** A World of version 4 reads a stream by its name alone. */
type Owner = string | undefined;

interface StreamName {
  readonly runId: Owner;
  readonly name: string;
}

type Sleep = (ms: number) => Promise<unknown>;

class StreamCalls {
  readonly #ask: Ask;
  readonly #sleep: Sleep;

  constructor(ask: Ask, sleep: Sleep) {
    this.#ask = ask;
    this.#sleep = sleep;
  }

  async write(stream: StreamName, chunks: readonly Chunk[]): Promise<void> {
    if (chunks.length > 0) await this.#ask('streams.write', { ...stream, chunks });
  }

  async close(stream: StreamName): Promise<void> {
    await this.#ask('streams.close', { ...stream });
  }

  async list(runId: string): Promise<readonly string[]> {
    return parseAnswer.names(await this.#ask('streams.list', { runId }));
  }

  async chunks(stream: StreamName, { limit, cursor }: ChunkOptions = {}): Promise<ChunkPage> {
    return parseAnswer.chunks(await this.#ask('streams.chunks', { ...defined({ ...stream, limit, cursor }) }));
  }

  async info(stream: StreamName): Promise<StreamPosition> {
    return parseAnswer.info(await this.#ask('streams.info', { ...defined(stream) }));
  }

  /** @param startIndex a negative index counts from the present end */
  async read(stream: StreamName, startIndex = 0): Promise<ReadableStream<Uint8Array>> {
    const from = startIndex < 0 ? Math.max(0, (await this.info(stream)).tailIndex + 1 + startIndex) : startIndex;
    return liveStream((cursor) => this.chunks(stream, defined({ limit: 1_000, cursor })), from, this.#sleep);
  }
}

/** The chunks from an index on: those that exist, and then each new one until the stream is closed. */
function liveStream(
  read: (cursor: string | undefined) => Promise<ChunkPage>,
  startIndex: number,
  sleep: Sleep,
): ReadableStream<Uint8Array> {
  let nextIndex = startIndex;
  // The cursor of a stream is the index of its next chunk.
  let cursor = startIndex === 0 ? undefined : String(startIndex);
  let failures = 0;
  let isCancelled = false;
  /** @returns whether there is something for the reader: a chunk, or the end */
  const readPage = async (
    controller: ReadableStreamDefaultController<Uint8Array>,
  ): Promise<'chunks' | 'end' | 'more' | 'none'> => {
    const page = await read(cursor).catch(async (error: unknown) => {
      failures += 1;
      if (!isTemporary(error) || failures > reconnects.max) throw error;
      return undefined;
    });
    if (isCancelled) return 'end';
    if (page === undefined) {
      // Chunks that the reader has are not read again: it resumes at the index where it broke.
      cursor = nextIndex === 0 ? undefined : String(nextIndex);
      await sleep(Math.min(reconnects.maxPauseMs, reconnects.firstPauseMs * 2 ** (failures - 1)));
      return 'more';
    }
    failures = 0;
    // A page without a cursor is the last one for now, and the next read repeats it: the index tells which chunks are new.
    cursor = page.cursor ?? cursor;
    const chunks = page.data.filter(({ index }) => index >= nextIndex);
    for (const { index, data } of chunks) {
      controller.enqueue(data);
      nextIndex = index + 1;
    }
    if (page.done && !page.hasMore) {
      controller.close();
      return 'end';
    }
    if (chunks.length > 0) return 'chunks';
    return page.hasMore ? 'more' : 'none';
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (let pauseMs: number = pollIntervals.firstMs; !isCancelled;) {
        const outcome = await readPage(controller);
        if (outcome === 'chunks' || outcome === 'end') return;
        if (outcome === 'more') continue;
        await sleep(pauseMs);
        pauseMs = Math.min(pollIntervals.maxMs, pauseMs * pollIntervals.factor);
      }
    },
    cancel() {
      isCancelled = true;
    },
  });
}

/** The SDK reads pages until one has no cursor. The service names a cursor at the present end too, and readers here continue at it. */
const endedPage = (page: ChunkPage): ChunkPage => (page.hasMore ? page : { ...page, cursor: null });

/** Whether the next read can succeed: the connection broke, or the service was busy. */
const isTemporary = (error: unknown): boolean =>
  error instanceof WorldError && (error.status === undefined || error.status === tooManyRequests || error.status >= serverErrors);
const tooManyRequests = 429;
const serverErrors = 500;

export function streamsOf(ask: Ask, sleep: Sleep): FlatStreamer & { readonly streams: WorldStreams } {
  const calls = new StreamCalls(ask, sleep);
  return {
    streams: {
      write: (runId, name, chunk) => calls.write({ runId, name }, [chunk]),
      writeMulti: (runId, name, chunks) => calls.write({ runId, name }, chunks),
      close: (runId, name) => calls.close({ runId, name }),
      get: (runId, name, startIndex) => calls.read({ runId, name }, startIndex),
      list: (runId) => calls.list(runId),
      getChunks: async (runId, name, options) => endedPage(await calls.chunks({ runId, name }, options)),
      getInfo: (runId, name) => calls.info({ runId, name }),
    },
    writeToStream: (name, runId, chunk) => calls.write({ runId, name }, [chunk]),
    writeToStreamMulti: (name, runId, chunks) => calls.write({ runId, name }, chunks),
    closeStream: (name, runId) => calls.close({ runId, name }),
    readFromStream: (name, startIndex) => calls.read({ runId: undefined, name }, startIndex),
    listStreamsByRunId: (runId) => calls.list(runId),
    getStreamChunks: async (name, runId, options) => endedPage(await calls.chunks({ runId, name }, options)),
    getStreamInfo: (name, runId) => calls.info({ runId, name }),
  };
}
