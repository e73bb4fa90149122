/**
 * Judges streams of the Workflow DevKit: the indices of chunks are dense, each written chunk has one index or none, an acknowledged one has
 * one unless the stream was being closed, each reader reads the same, and nothing follows the end.
 */
import { runInvariant } from '../violation.ts';

interface Sent {
  /** the last chunk of its writer that was acknowledged before this one was sent */
  readonly after: string | undefined;
  /** acknowledged, while no writer was closing the stream */
  mustBeKept: boolean;
}

interface Judged {
  readonly sent: Map<string, Sent>;
  /** by writer: its last acknowledged chunk */
  readonly acknowledged: Map<string, string>;
  /** by index, as readers read them */
  readonly read: Map<number, string>;
  readonly indexOf: Map<string, number>;
  isClosing: boolean;
  /** the index of the chunk that never comes */
  endsAt: number;
}

export class StreamChecker {
  readonly #streams = new Map<string, Judged>();
  /** chunks that readers read */
  chunksRead = 0;

  get names(): readonly string[] {
    return [...this.#streams.keys()];
  }

  #stream(name: string): Judged {
    const known = this.#streams.get(name);
    const stream = known ?? {
      sent: new Map(),
      acknowledged: new Map(),
      read: new Map(),
      indexOf: new Map(),
      isClosing: false,
      endsAt: Infinity,
    };
    this.#streams.set(name, stream);
    return stream;
  }

  sent(name: string, writer: string, chunks: readonly string[]): void {
    const { sent, acknowledged } = this.#stream(name);
    for (const [index, chunk] of chunks.entries())
      sent.set(chunk, { after: index === 0 ? acknowledged.get(writer) : chunks[index - 1], mustBeKept: false });
  }

  acknowledged(name: string, writer: string, chunks: readonly string[]): void {
    const stream = this.#stream(name);
    for (const chunk of chunks) {
      const sent = stream.sent.get(chunk);
      if (sent !== undefined) sent.mustBeKept = !stream.isClosing;
      stream.acknowledged.set(writer, chunk);
    }
  }

  closing(name: string): void {
    this.#stream(name).isClosing = true;
  }

  /** A page that a reader got from a position on. */
  pageRead(
    name: string,
    from: number,
    { data, done }: { readonly data: readonly { readonly index: number; readonly data: unknown }[]; readonly done: boolean },
  ): void {
    const stream = this.#stream(name);
    for (const [offset, { index, data: chunk }] of data.entries()) {
      runInvariant(8, index === from + offset, () => `of ${name} chunk ${index} was read after ${from + offset - 1}`);
      runInvariant(8, index < stream.endsAt, () => `${name} ended at ${stream.endsAt}, and has a chunk ${index}`);
      const text = String(chunk);
      const known = stream.read.get(index);
      runInvariant(8, known === undefined || known === text, () => `chunk ${index} of ${name} changed`);
      const other = stream.indexOf.get(text);
      runInvariant(8, other === undefined || other === index, () => `a chunk of ${name} has the indices ${other} and ${index}`);
      runInvariant(8, stream.sent.has(text), () => `no client wrote chunk ${index} of ${name}`);
      stream.read.set(index, text);
      stream.indexOf.set(text, index);
      this.chunksRead += 1;
    }
    if (done) stream.endsAt = Math.min(stream.endsAt, from + data.length);
  }

  /** After the whole stream was read. */
  check(name: string): void {
    const { sent, indexOf } = this.#stream(name);
    for (const [chunk, { after, mustBeKept }] of sent) {
      const index = indexOf.get(chunk);
      runInvariant(8, index !== undefined || !mustBeKept, () => `an acknowledged chunk of ${name} is lost`);
      const before = after === undefined ? undefined : indexOf.get(after);
      runInvariant(8, index === undefined || before === undefined || before < index, () => `chunks of ${name} changed places`);
    }
  }
}
