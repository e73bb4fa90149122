/** The keys of steps: a name, and from its second use on the name with the next free number. All kinds of steps share them. */
export class StepKeys {
  readonly #used = new Set<string>();
  readonly #next = new Map<string, number>();

  take(name: string): string {
    const key = this.#used.has(name) ? this.#numbered(name) : name;
    this.#used.add(key);
    return key;
  }

  #numbered(name: string): string {
    let number = this.#next.get(name) ?? 1;
    while (this.#used.has(`${name}:${number}`)) number += 1;
    this.#next.set(name, number + 1);
    return `${name}:${number}`;
  }
}
