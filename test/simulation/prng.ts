/** The random generator of a simulation: the seed determines everything. (sfc32, public domain.) */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = (seed * 0x9e3779b9) >>> 0;
    this.#c = 0x2545f491;
    for (let warmUp = 0; warmUp < 12; warmUp += 1) this.next();
  }

  /** from 0 up to, but not including, 1 */
  next(): number {
    const sum = (this.#a + this.#b + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  /** Another stream, which takes nothing from this one: what is drawn from it moves nothing else. */
  fork(): Prng {
    return new Prng((this.#a ^ this.#b ^ this.#c ^ this.#count) >>> 0);
  }

  isLucky(rate: number): boolean {
    return rate > 0 && this.next() < rate;
  }

  /** a whole number from `low` to `high`, both included */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
