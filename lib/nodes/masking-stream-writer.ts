/** Takes secrets out of a text that is told in parts, wherever the parts are parted: what may begin one waits for the rest of it. */
import type { SecretMask } from './secret-mask.ts';

/** In UTF-16 units. More waits only where a text repeats the beginning of a secret over and over. */
const maxPending = 65_536;

export class MaskingStreamWriter {
  readonly #mask: () => SecretMask;
  readonly #append: (text: string) => void;
  #pending = '';

  /** @param mask of the secrets that are known by then: it is asked at each part */
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

  /** Nothing comes any more. */
  end(): void {
    this.#emit(this.#mask(), this.#pending);
    this.#pending = '';
  }

  #emit(mask: SecretMask, text: string): void {
    if (text !== '') this.#append(mask.text(text));
  }
}
