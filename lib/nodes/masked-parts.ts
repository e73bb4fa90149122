/** Takes secrets out of a text that is told in parts, wherever the parts are parted: what may begin one waits for the rest of it. */
import type { SecretMask } from './secret-mask.ts';

/** In UTF-16 units. More waits only where a text repeats the beginning of a secret over and over. */
const mostHeld = 65_536;

export class MaskedParts {
  readonly #mask: () => SecretMask;
  readonly #say: (text: string) => void;
  #held = '';

  /** @param mask of the secrets that are known by then: it is asked at each part */
  constructor(mask: () => SecretMask, say: (text: string) => void) {
    this.#mask = mask;
    this.#say = say;
  }

  say(part: string): void {
    const mask = this.#mask();
    const text = this.#held + part;
    const border = text.length > mostHeld ? text.length : mask.borderOf(text);
    this.#tell(mask, text.slice(0, border));
    this.#held = text.slice(border);
  }

  /** Nothing comes any more. */
  end(): void {
    this.#tell(this.#mask(), this.#held);
    this.#held = '';
  }

  #tell(mask: SecretMask, text: string): void {
    if (text !== '') this.#say(mask.text(text));
  }
}
