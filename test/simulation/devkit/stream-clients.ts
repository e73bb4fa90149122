/** Writers and readers of a stream of a run: two writers append chunks, one may close it, and readers read it from the start. */
import type { RunAddress } from '../../../lib/engine/ids.ts';
import { closeStream, readChunks, writeStream } from '../../../lib/service/kinds/devkit/streams.ts';
import { Process } from '../process.ts';
import type { StreamChecker } from './stream-checker.ts';
import { type ClientParts, WorldClient } from './world-client.ts';

const writers = ['one', 'two'] as const;
const maxWrites = 6;
const betweenWritesMs = 120_000;
const reads = 6;
const betweenReadsMs = 300_000;
/** Above this size a flush is in the bucket. */
const largeChunk = 'x'.repeat(310_000);

const streamNameOf = ({ runId }: RunAddress): string => `strm_${runId.slice('wrun_'.length)}_user`;

export class StreamClients {
  readonly #parts: ClientParts;
  readonly #judge: StreamChecker;
  readonly #run: RunAddress;
  #chunks = 0;

  constructor(parts: ClientParts, judge: StreamChecker, run: RunAddress) {
    this.#parts = parts;
    this.#judge = judge;
    this.#run = run;
  }

  begin(): void {
    const { time, prng } = this.#parts.around;
    for (const writer of writers)
      for (let write = 0; write < maxWrites; write += 1)
        time.in((write + 1) * prng.whole(1_000, betweenWritesMs), () => this.#inBackground(this.#write(writer)));
    if (prng.isLucky(0.5)) time.in(prng.whole(0, maxWrites * betweenWritesMs), () => this.#inBackground(this.#close()));
    for (let read = 0; read < reads; read += 1)
      time.in(prng.whole(0, reads * betweenReadsMs), () => this.#inBackground(this.#read()));
  }

  get #request() {
    const { runId, ...scope } = this.#run;
    return { scope, runId, name: streamNameOf(this.#run) };
  }

  async #write(writer: string): Promise<void> {
    const { prng } = this.#parts.around;
    const large = prng.isLucky(0.05) ? largeChunk : '';
    const chunks = Array.from({ length: prng.whole(1, 3) }, () => `${writer} ${(this.#chunks += 1)}${large}`);
    const request = this.#request;
    this.#judge.sent(request.name, writer, chunks);
    const result = await this.#client().call((world) => writeStream(world.deps, request, chunks));
    if (result.kind === 'answered') this.#judge.acknowledged(request.name, writer, chunks);
  }

  async #close(): Promise<void> {
    const request = this.#request;
    this.#judge.closing(request.name);
    await this.#client().call((world) => closeStream(world.deps, request));
  }

  async #read(): Promise<void> {
    const request = this.#request;
    for (let from = 0; ;) {
      const page = await this.#client().call((world) => readChunks(world.deps, request, { cursor: String(from), limit: 5 }));
      if (page.kind === 'refused') return;
      this.#judged(() => this.#judge.pageRead(request.name, from, page.value));
      if (page.value.data.length === 0) return;
      from += page.value.data.length;
    }
  }

  #client(): WorldClient {
    return new WorldClient(this.#parts, new Process(this.#parts.around));
  }

  #judged(judge: () => void): void {
    try {
      judge();
    } catch (cause) {
      this.#parts.functions.problems.push(cause);
    }
  }

  /** A call without an answer is not repeated: its chunks may be there, or not. */
  #inBackground(work: Promise<void>): void {
    work.catch((cause: unknown) => {
      const isTemporary = cause instanceof Error && (cause.name === 'NoAnswer' || cause.name === 'Unavailable');
      if (!isTemporary) this.#parts.functions.recordError(cause);
    });
  }
}
