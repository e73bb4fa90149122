/** The calls about lenses: `client.lenses`. */
import { type CallOptions, ask } from './ask.ts';
import type { ClientParts } from './options.ts';
import { rowsOf } from './read-on.ts';
import { type Answer, type BodyGiven, type QueryGiven, routeOf } from './shapes.ts';

const createLens = routeOf('createLens');
const listLenses = routeOf('listLenses');
const getLens = routeOf('getLens');
const publishLens = routeOf('publishLens');
const archiveLens = routeOf('archiveLens');

type LensSummary = Answer<'listLenses'>['data'][number];

export class LensCalls {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Publishes version 1 of a new lens. */
  create(body: BodyGiven<'createLens'>, options?: CallOptions): Promise<Answer<'createLens'>> {
    return ask(this.#parts, createLens, createLens.answers[201].schema, { body }, options);
  }

  /** Publishes the next version. */
  publish(name: string, body: BodyGiven<'publishLens'>, options?: CallOptions): Promise<Answer<'publishLens'>> {
    return ask(this.#parts, publishLens, publishLens.answers[201].schema, { params: { name }, body }, options);
  }

  get(name: string, query: QueryGiven<'getLens'> = {}, options?: CallOptions): Promise<Answer<'getLens'>> {
    return ask(this.#parts, getLens, getLens.answers[200].schema, { params: { name }, query }, options);
  }

  /** One page. */
  list(query: QueryGiven<'listLenses'> = {}, options?: CallOptions): Promise<Answer<'listLenses'>> {
    return ask(this.#parts, listLenses, listLenses.answers[200].schema, { query }, options);
  }

  /** Every lens, page by page. */
  each(query: QueryGiven<'listLenses'> = {}, options?: CallOptions): AsyncGenerator<LensSummary, void, undefined> {
    return rowsOf((from) => this.list({ ...query, ...from }, options));
  }

  archive(name: string, options?: CallOptions): Promise<Answer<'archiveLens'>> {
    return ask(this.#parts, archiveLens, archiveLens.answers[200].schema, { params: { name } }, options);
  }
}
