/** Masks secrets in streamed text, also across chunk borders: text that may start a secret waits for the next chunk. */
import type { SecretMask } from './secret-mask.ts';

/** Limit in UTF-16 units. Only text that repeats the start of a secret many times can reach it. */
const maxPending = 65_536;

export class MaskingStreamWriter {
  readonly #mask: () => SecretMask;
  readonly #append: (text: string) => void;
  #pending = '';

  /** @param mask read for each chunk, because an attempt may resolve further secrets */
  constructor(mask: () => SecretMask, append: (text: string) => void) {
    this.#mask = mask;
    this.#append = append;
  }

  append(part: string): void {
    const mask = this.#mask();
    const text = this.#pending + part;
    const splitIndex = text.length > maxPending ? text.length : mask.safeSplitIndex(text);
    this.#emit(mask, text.slice(0, splitIndex));
    this.#pending = text.slice(splitIndex);
  }

  /** Flushes the pending text. */
  end(): void {
    this.#emit(this.#mask(), this.#pending);
    this.#pending = '';
  }

  #emit(mask: SecretMask, text: string): void {
    if (text !== '') this.#append(mask.text(text));
  }
}
