/** Embeds in memory. */
import type { EmbedId, Scope } from '../engine/ids.ts';
import type { Embed, Embeds } from '../ports/embeds.ts';
import { frozenCopy } from './frozen-copy.ts';

export class MemoryEmbeds implements Embeds {
  readonly #byDigest = new Map<string, Embed>();

  async put(embed: Embed): Promise<void> {
    this.#byDigest.set(embed.digest, frozenCopy(embed));
  }

  async embed(digest: string): Promise<Embed | undefined> {
    return this.#byDigest.get(digest);
  }

  async list({ projectId, environment }: Scope): Promise<readonly Embed[]> {
    return [...this.#byDigest.values()]
      .filter((embed) => embed.projectId === projectId && embed.environment === environment)
      .toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  async delete(scope: Scope, id: EmbedId): Promise<Embed | undefined> {
    const found = (await this.list(scope)).find((embed) => embed.id === id);
    if (found !== undefined) this.#byDigest.delete(found.digest);
    return found;
  }
}
